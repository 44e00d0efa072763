/* Backward: appends the gradient of one value to its graph, as ordinary nodes. */
#pragma once
#include "graph/graph.h"

/* Appends to `g` the nodes that compute dy/dx for each of the `count` values `wrt`, given `dy`, the gradient that
 * arrives at `y` (same shape as y; a constant 1 for a loss). grads[i] becomes NULL where y does not depend on wrt[i].
 * Only nodes on a path from a wrt to y are walked. unsupported-op, naming the node, when one of them has no gradient.
 */
Status backward(Graph *g, Value *y, Value *dy, Value *const *wrt, int count, Value **grads);
/* The same of several ys at once, each with what arrives at it. */
Status backward_from(Graph *g, Value *const *ys, Value *const *dys, int y_count, Value *const *wrt, int count,
                     Value **grads);
