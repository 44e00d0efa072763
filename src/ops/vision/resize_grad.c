/* ResizeGrad: the gradient of Resize and Upsample: dy is handed out by the weights it was summed with. Inputs: dY,
 * Shape(X), then Resize's own. */
#include "ops/vision/resize_axes.h"

static Status resize_grad_infer(Node *n) {
  const Dim *dims;
  int rank;
  Shape y;
  Resize *r;
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  TRY(node_want_float(n, 0));
  TRY(node_known(n, 1, &dims, &rank));
  if (rank > RANK_MAX) return node_invalid(n, "the shape of X has %d dimensions", rank);
  Shape x = shape_of(rank, dims);
  TRY(resize_read(n, &x, 2, &y, &r));
  if (r && shape_is_concrete(&n->in[0]->shape) && !shape_equal(&y, &n->in[0]->shape))
    return node_invalid(n, "dY is %s, Resize gives %s", shape_print(&n->in[0]->shape, came), shape_print(&y, wanted));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &x));
  return resize_bytes(n, r);
}

static void resize_grad_run(const Node *n) { resize_gradient(n->params, in_f32(n, 0), out_f32(n, 0), n->scratch); }

OPERATOR(resize_grad) = {
    .name = "ResizeGrad",
    .since = {7, 9, 10, 11, 13, 18, 19},
    .inputs = {2, 5},
    .flags = OP_OURS,
    .infer = resize_grad_infer,
    .run = resize_grad_run,
    .work = resize_work,
    .cases = CASES({"f32[1,2,6,9] i64[4]=1,2,3,4 - - i64[4]=1,2,6,9", "mode=linear"}),
};
