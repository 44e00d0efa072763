/* DFT: the discrete Fourier transform along an axis, or its inverse; the last dim holds real and imaginary part. */
#include "ops/signal/dft_lines.h"

/* The axis is an input since opset 20. */
static Status read_axis(Node *n, int rank, int *axis) {
  const Dim *dims;
  int count;
  int64_t given = node_int(n, "axis", 1);
  if (n->version >= 20) given = -2;
  if (n->version >= 20 && has_in(n, 2)) {
    TRY(node_known(n, 2, &dims, &count));
    if (count != 1) return node_invalid(n, "axis must be one number");
    given = dims[0];
  }
  TRY(node_axis(n, given, rank, axis));
  return *axis == rank - 1 ? node_invalid(n, "the axis is the last one, of real and imaginary part") : STATUS_OK;
}

static Status dft_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Shape y;
  int axis;
  Dft *d;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  TRY(read_axis(n, x->rank, &axis));
  TRY(dft_read(n, x, axis, 1, &y, &d));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static void dft_run(const Node *n) { dft_forward(n->params, in_f32(n, 0), out_f32(n, 0), n->scratch); }

static Status dft_grad(Grad *g) {
  Node *n = g->node;
  int axis;
  TRY(read_axis(n, n->in[0]->shape.rank, &axis));
  AttrList attrs = ATTRS(attr_of_int("axis", axis), attr_of_int("inverse", node_int(n, "inverse", 0)),
                         attr_of_int("onesided", node_int(n, "onesided", 0)));
  g->dx[0] = emit_with(g->graph, "DFTGrad", attrs, g->dy[0], emit_shape(g->graph, n->in[0]),
                       has_in(n, 1) ? n->in[1] : EMIT_ABSENT);
  return STATUS_OK;
}

OPERATOR(dft) = {
    .name = "DFT",
    .since = {17, 20},
    .inputs = {1, 3},
    .infer = dft_infer,
    .run = dft_run,
    .grad = GRADIENT(dft_grad),
    .work = dft_node_work,
    .cases = CASES({"f32[2,6,3,1]", "", 17}, {"f32[2,5,2]", "inverse=1", 17}, {"f32[3,4,8,2]", "axis=2", 17},
                   {"f32[2,7,1] i64[]=10", "onesided=1", 17}, {"f32[1,14,2,1] i64[]=11", "onesided=1 axis=-3", 17},
                   {"f32[2,3,60,1]", "", 20}, {"f32[2,24,2] i64[]=28", "inverse=1", 20},
                   {"f32[5,4,2] - i64[]=0", "", 20}, {"f32[2,16,1]", "onesided=1", 20},
                   {"f32[3,5,2]", "onesided=1 inverse=1", 20},
                   {"f32[3,6,2,2] i64[]=7 i64[]=1", "onesided=1 inverse=1", 20}),
};
