/* Softmax axis: the attribute that Softmax, LogSoftmax and their gradients share, and the dims it stands for. */
#pragma once
#include "kernels/softmax.h"
#include "ops/op.h"

/* float in, output 0 of input 0's shape, params. */
Status softmax_axis_infer(Node *n);
SoftmaxDims softmax_axis_dims(const Node *n);
/* Emits the gradient operator on (dy, y). */
Value *softmax_axis_gradient(Grad *g, const char *op_name);
