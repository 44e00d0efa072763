/* Yield: where gradients come from outside, and for which of its inputs. */
#pragma once
#include "graph/op.h"

extern const Op op_yield;

/* Its gradients are the node's outputs, in the order of the inputs that have one. */
bool yield_takes_gradient(const Node *n, int input);
