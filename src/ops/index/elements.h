/* Elements: every element of an index tensor names an element of the data in its own line along an axis; what
 * GatherElements, its gradient and ScatterElements share. */
#pragma once
#include "ops/index/index.h"

/* A row of the indices, along their last dim. */
typedef struct ElementsRun {
  const int64_t *wide; /* the indices, or else NULL and */
  const int32_t *narrow;
  size_t from, count; /* elements from … from + count - 1 of the indices */
  size_t line, step;  /* the first one's own line of the data begins at `line`, the next one's `step` behind it */
  size_t stride;      /* between the elements of a line */
  int64_t size;       /* elements of a line */
} ElementsRun;

/* The element of the data that is named by the row's element i; -1 when it is out of range. */
static inline ptrdiff_t elements_at(const ElementsRun *r, size_t i) {
  int64_t k = r->wide ? r->wide[i] : r->narrow[i];
  if (k < 0) k += r->size;
  return (uint64_t)k < (uint64_t)r->size ? (ptrdiff_t)(r->line + i * r->step + (size_t)k * r->stride) : -1;
}

/* Notes that the row's element i has an index out of range. */
void elements_note(const Node *n, int indices, const ElementsRun *r, size_t i);

typedef void ElementsLine(const Node *n, const ElementsRun *run);

/* Checks input `indices` against the data's shape; params. */
Status elements_infer(Node *n, const Shape *data, int indices, Dim axis);
int elements_axis(const Node *n);
void elements_each(const Node *n, const Shape *data, int indices, ElementsLine *visit);
