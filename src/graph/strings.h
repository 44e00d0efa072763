/* Strings: an element is a pointer to text that ends with a zero byte, NULL is the empty one. Moving elements moves
 * pointers; operators that make new text do so while the graph is built, from contents that are known by then
 * (node_contents). */
#pragma once
#include <string.h>

#include "graph/op.h"

static inline const char *strings_text(const char *s) { return s ? s : ""; }

/* The strings of an input, *count of them; NULL with a sentence if it has no strings, or none that are known yet. */
const char *const *strings_of(const Node *n, int input, size_t *count);

/* Strings are computed while a run is planned. So what they take counts as its work, and a run that was stopped ends
 * here. In multiply-adds that take as long: */
enum { WORK_STRING = 512, WORK_LETTER = 8 }; /* a string made, a letter read or written */
static inline double strings_cost(const char *s) { return WORK_STRING + WORK_LETTER * (double)strlen(strings_text(s)); }
bool strings_spend(const void *node, double work); /* false: strings_work fails */
Status strings_work(const Node *n, double work);

/* For runs, which compare strings as they compute: as strcmp; adds to *letters those that were read, and some for the
 * comparison itself. */
int strings_compare(const char *a, const char *b, size_t *letters);
/* Counts them as work of the run. If that is too much, or the run was stopped, it notes that the run must end
 * (graph/bad_index.h) and returns false, and strings_may_read returns false until then. */
bool strings_count(const Node *n, size_t letters);
bool strings_may_read(void);

/* A constant of elements that stay where they are. */
Value *strings_constant(Expansion *c, DType type, const Shape *shape, const void *data);
