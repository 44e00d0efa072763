/* Yield: ends the forward part of a training graph, so that its gradients come from outside. */
#pragma once
#include "graph/graph.h"

/* The start of backward: values, and the gradients that arrive at them. */
typedef struct BackwardStart {
  Value **ys, **dys;
  int count;
} BackwardStart;

/* Appends a YieldOp, as ORTModule writes it, of all outputs that g has: those of float32 take a gradient,
 * `<output>_grad`. */
Status yield_append(Graph *g, BackwardStart *start);
/* Finds the start at a YieldOp that is there already. */
Status yield_find(Graph *g, const Node *yield, BackwardStart *start);
/* Makes what arrived at an input an output of the graph, `<input>_grad`. */
Status yield_add_input_gradient(Graph *g, const Value *input, Value *grad);
