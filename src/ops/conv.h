/* What Conv, FusedConv and ConvGrad share: the checks that make a Conv3d (kernels/conv_depth.h) of x, w and the attributes. */
#pragma once
#include "kernels/conv_depth.h"
#include "ops/window.h"

/* Inputs x and w of the node; gives y's shape and the attributes. */
Status conv_shapes(const Node *n, int x, int w, Shape *y, WindowAttrs *attrs);
/* Shapes are numbers. */
Conv3d conv_of(const Node *n, const Shape *x, const Shape *w, const Shape *y, const WindowAttrs *attrs);

Status conv_op_infer(Node *n); /* of inputs x, w and the bias */
void conv_op_run(const Node *n);
