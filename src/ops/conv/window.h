/* The attributes that Conv, the pools and their gradients share, and the window (kernels/window.h) they describe. */
#pragma once
#include "kernels/window.h"
#include "graph/op.h"

typedef struct WindowAttrs {
  int rank;          /* spatial dims, 1 to 3 */
  int64_t kernel[3]; /* 0: W has not said its size yet */
  int64_t stride[3], dilation[3], pad_begin[3], pad_end[3];
  enum { PAD_EXPLICIT, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID } padding;
  bool ceil_mode;
} WindowAttrs;

/* Reads and checks them. `kernel` gives the kernel's dims (of W); NULL: the attribute kernel_shape is required. */
Status window_attrs(const Node *n, int rank, const Dim *kernel, WindowAttrs *out);
/* y's spatial dim a, computed from x's; a symbol gives the same symbol if the size stays the same, otherwise a new
 * one. */
Status window_out_dim(const Node *n, const WindowAttrs *attrs, int a, Dim in, Dim *out);
/* The kernel's span with its dilation, along spatial dimension a. */
static inline int64_t window_reach(const WindowAttrs *w, int a) { return (w->kernel[a] - 1) * w->dilation[a] + 1; }
/* The attribute of that name: a list of `count` numbers in least…2^24, or all `otherwise` when it is absent. */
Status window_list(const Node *n, const char *name, int count, int64_t least, int64_t otherwise, int64_t *out);
/* Shapes are numbers: the window from x's plane to y's, both (N, C, D…); of three spatial dims the last two. */
Window window_of(const WindowAttrs *attrs, const Shape *x, const Shape *y);
/* The first of three spatial dims, along axis 0; size 1 where there are fewer. */
Window window_depth_of(const WindowAttrs *attrs, const Shape *x, const Shape *y);
/* All attributes of a node, for the node of its gradient. */
static inline AttrList node_attrs(const Node *n) { return (AttrList){n->attrs, n->attr_count}; }
