/* Relu: y = max(x, 0).  dx = dy where x > 0, else 0; at x = 0 the gradient is 0, as in PyTorch. */
#include "ops/op.h"
#include "simd.h"

static Status relu_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

static void relu_run(const Node *n) {
  const float *x = in_f32(n, 0);
  float *y = out_f32(n, 0);
  size_t count = out_count(n, 0), i = 0;
  f32x4 zero = f32x4_splat(0);
  for (; i + 4 <= count; i += 4) {
    f32x4 v = f32x4_load(x + i);
    f32x4_store(y + i, f32x4_select(v < zero, zero, v)); /* NaN stays NaN */
  }
  for (; i < count; i++) y[i] = x[i] < 0 ? 0 : x[i];
}

static Status relu_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "ReluGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

CASES_OF(relu_cases) = {{"f32[2,3]"}, {"f32[5]"}, {"f32[]"}, {0}};

const Op op_relu = {
    .name = "Relu",
    .since = {1, 6, 13, 14},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = relu_infer,
    .run = relu_run,
    .grad = relu_grad,
    .cases = CASES(relu_cases),
};
