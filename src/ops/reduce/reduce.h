/* Reduce: what the operators that reduce share: their axes, their output's shape, their gradient. */
#pragma once
#include "graph/op.h"
#include "kernels/sums.h"

/* params of the operators below */
typedef struct Reduce {
  bool known;    /* the axes are; they may come later when the graph has symbols */
  unsigned axes; /* bit i: dim i is reduced */
} Reduce;

/* Where an operator finds its axes: an input since some version, else an attribute. `noop`: it knows
 * noop_with_empty_axes. */
Status reduce_infer(Node *n, bool axes_are_input, bool noop);
/* The product of the reduced dims. */
size_t reduce_count(const Node *n);
/* As a loss: elements. */
Counted reduce_counted(const Node *n, bool sum);
/* The gradient of a sum: dy in the shape with kept dims, expanded to x's shape. */
Value *reduce_sum_gradient(Graph *g, Node *n, Value *dy);
