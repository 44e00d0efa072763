/* Weights: the readers of a model's parameters, and the role of a parameter in each.
 *
 *   initializer ─▶ nodes of constants alone (Transpose, Cast, norm of a weight …) ─▶ node that reads a weight, a bias …
 *
 * An operator names the roles of its inputs (Op.weights, .biases, .scales). */
#pragma once
#include "graph/graph.h"

typedef enum ReadAs { READ_WEIGHT, READ_BIAS, READ_SCALE, READ_STATISTIC, READ_OPERAND } ReadAs;
const char *read_as_name(ReadAs as); /* "weight" … "operand" */
static inline bool read_is_learned(ReadAs as) { return as < READ_STATISTIC; }

typedef struct Reading {
  Node *node;  /* the model's node: the whole one, where others make it up */
  Node *first; /* on the way there, the one that reads the value itself */
  ReadAs as;
  bool early; /* a number or vector, added to or multiplying what depends on no weight */
} Reading;

enum { READINGS_MAX = 64 }; /* kept of a value */
typedef struct Readings {
  Reading *items; /* the last node's first */
  int count, capacity;
} Readings;

typedef struct Weights {
  Readings *of;   /* one for each value that follows from constants alone, by its index */
  bool *infinite; /* parameters with values that are not finite */
} Weights;

bool weights_infinite(const Value *v); /* true if not all of a float value's numbers are finite */
bool weights_says(const Op *op);       /* true if it says that a layer learns any of its inputs */
/* Reads model m, whose running statistics have been marked. */
Status weights_read(Graph *m, Arena *arena, Weights *out);
const Reading *weights_learned(const Weights *w, const Value *v); /* the first that is learned; NULL: none is */
/* For a module's attribute that is not learned as a weight: true if a gradient can reach it through a layer. */
bool weights_may_be_learned(const Weights *w, const Value *v);
