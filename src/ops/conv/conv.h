/* Parts that Conv, FusedConv and ConvGrad share: the checks that turn x, w and the attributes into a Conv3d
 * (kernels/conv_depth.h). */
#pragma once
#include "kernels/conv_depth.h"
#include "ops/conv/window.h"
#include "graph/work.h"

/* Inputs x and w of the node; gives y's shape and the attributes. */
Status conv_shapes(const Node *n, int x, int w, Shape *y, WindowAttrs *attrs);
/* Shapes are numbers. */
Conv3d conv_of(const Node *n, const Shape *x, const Shape *w, const Shape *y, const WindowAttrs *attrs);

/* Refuses a convolution for which a shrunk build has no variant. */
Status conv_check_variant(const Node *n, const Conv3d *conv, ConvDirection direction);

Status conv_op_infer(Node *n); /* infers from inputs x, w and the bias */
void conv_op_run(const Node *n);

/* Each of `by` meets the weights of one channel. */
static inline double conv_work_of(const Value *by, const Value *w) {
  double channels = w->shape.dim[0] > 1 ? (double)w->shape.dim[0] : 1;
  return work_elements(by) * work_elements(w) / channels;
}
static inline double conv_work(const Node *n) { return conv_work_of(n->out[0], n->in[1]); }
