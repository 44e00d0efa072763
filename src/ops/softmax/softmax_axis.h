/* Softmax axis: the attribute that Softmax, LogSoftmax and their gradients share, and the dims it stands for. */
#pragma once
#include "kernels/softmax.h"
#include "graph/upgrade.h"

/* float in, output 0 of input 0's shape, params. */
Status softmax_axis_infer(Node *n);
SoftmaxDims softmax_axis_dims(const Node *n);
/* Emits the gradient operator on (dy, y). */
Value *softmax_axis_gradient(Grad *g, const char *op_name);

/* The operator of this name before opset 13: all dims from the axis on count as one, and the default axis is 1. */
Status softmax_axis_flatten(Expansion *c, const char *op_name);
#define SOFTMAX_FLAT(lower, Name)                                                                                      \
  static Status lower##_flat_expand(Expansion *c) { return softmax_axis_flatten(c, Name); }                            \
  static const Op op_##lower##_flat = {.name = Name, .since = {1}, .inputs = {1, 1}, .expand = lower##_flat_expand};   \
  static Status lower##_upgrade(Upgrade *u) { return u->node->op = &op_##lower##_flat, STATUS_OK; }
