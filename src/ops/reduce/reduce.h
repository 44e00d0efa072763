/* Reduce: what the operators that reduce share: their axes, their output's shape, their gradient. */
#pragma once
#include "graph/op.h"
#include "kernels/sums.h"

/* params of the operators below */
typedef struct Reduce {
  bool known;    /* the axes are; they may come later when the graph has symbols */
  unsigned axes; /* bit i: dim i is reduced */
} Reduce;

/* Reads the axes from an input or an attribute, as the operator's version says. `noop`: the operator has
 * noop_with_empty_axes. */
Status reduce_infer(Node *n, bool axes_are_input, bool noop);
/* The product of the reduced dims. */
size_t reduce_count(const Node *n);
/* The count of a loss that reduces: elements. */
Counted reduce_counted(const Node *n, bool sum);
/* The gradient of a sum: dy in the shape with kept dims, expanded to x's shape. */
Value *reduce_sum_gradient(Graph *g, Node *n, Value *dy);
