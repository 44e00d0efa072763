/* Yield: which of a YieldOp's inputs a gradient comes for. */
#pragma once
#include "graph/graph.h"

/* Its gradients are the node's outputs, in the order of the inputs that have one. */
bool yield_takes_gradient(const Node *n, int input);
