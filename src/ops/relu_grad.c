/* ReluGrad (com.microsoft): dx = dy where x > 0, else 0; x is the input or the output of Relu, the sign is the same. */
#include "kernels/same_shape.h"
#include "ops/op.h"
#include "simd.h"

static Status relu_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(same_shape_want(n, 0, 1));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

static void relu_grad_run(const Node *n) {
  const float *dy = in_f32(n, 0), *x = in_f32(n, 1);
  float *dx = out_f32(n, 0);
  size_t count = out_count(n, 0), i = 0;
  f32x4 zero = f32x4_splat(0);
  for (; i + 4 <= count; i += 4) f32x4_store(dx + i, f32x4_select(f32x4_load(x + i) > zero, f32x4_load(dy + i), zero));
  for (; i < count; i++) dx[i] = x[i] > 0 ? dy[i] : 0;
}

CASES_OF(relu_grad_cases) = {{"f32[2,3] f32[2,3]"}, {0}};

const Op op_relu_grad = {
    .name = "ReluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_place = 1 | 2,
    .infer = relu_grad_infer,
    .run = relu_grad_run,
    .cases = CASES(relu_grad_cases),
};
