/* The attributes that Conv, the pools and their gradients share, and the window (kernels/window.h) they describe. */
#pragma once
#include "kernels/window.h"
#include "ops/op.h"

typedef struct WindowAttrs {
  int rank; /* spatial dims, 1 or 2 */
  int64_t kernel[2], stride[2], dilation[2], pad_begin[2], pad_end[2];
  enum { PAD_EXPLICIT, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID } padding;
  bool ceil_mode;
} WindowAttrs;

/* Reads and checks them. `kernel` gives the kernel's dims (of W); NULL: the attribute kernel_shape is required. */
Status window_attrs(const Node *n, int rank, const Dim *kernel, WindowAttrs *out);
/* y's spatial dim a over x's; a symbol gives the same symbol where the size stays, otherwise a fresh one. */
Status window_out_dim(const Node *n, const WindowAttrs *attrs, int a, Dim in, Dim *out);
/* Shapes are numbers: the window from x's plane to y's, both (N, C, D…). */
Window window_of(const WindowAttrs *attrs, const Shape *x, const Shape *y);
/* All attributes of a node, to be given to the node of its gradient. */
static inline AttrList node_attrs(const Node *n) { return (AttrList){n->attrs, n->attr_count}; }
