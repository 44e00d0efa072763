/* DFTGrad: from dY, Shape(X) and dft_length of a DFT: dX. Its attributes are those of DFT, and the axis. */
#include "ops/signal/dft_lines.h"

static Status dft_grad_infer(Node *n) {
  const Dim *dims;
  int rank, axis;
  Shape y;
  Dft *d;
  TRY(node_want_float(n, 0));
  TRY(node_known(n, 1, &dims, &rank));
  if (rank < 2 || rank > RANK_MAX) return node_invalid(n, "the shape of X has %d dimensions", rank);
  Shape x = shape_of(rank, dims);
  TRY(node_axis(n, node_int(n, "axis", 0), rank - 1, &axis));
  TRY(dft_read(n, &x, axis, 2, &y, &d));
  if (d && shape_is_concrete(&n->in[0]->shape) && !shape_equal(&y, &n->in[0]->shape))
    return node_invalid(n, "dY has not the shape of DFT's output");
  return node_output(n, 0, DTYPE_FLOAT32, &x);
}

static void dft_grad_run(const Node *n) { dft_gradient(n->params, in_f32(n, 0), out_f32(n, 0), n->scratch); }

OPERATOR(dft_grad) = {
    .name = "DFTGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 3},
    .flags = OP_OURS,
    .infer = dft_grad_infer,
    .run = dft_grad_run,
    .work = dft_node_work,
    .cases = CASES({"f32[2,5,2] i64[3]=2,8,1", "onesided=1 axis=1"}),
};
