/* Sign: y = -1, 0 or 1, and NaN of NaN.  It is flat: dx = 0. */
#include "kernels/broadcast.h"

static Status sign_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

static f32x4 sign(f32x4 x) {
  f32x4 zero = f32x4_splat(0), one = f32x4_splat(1);
  return f32x4_select(x > zero, one, f32x4_select(x < zero, -one, x));
}
BROADCAST_ROW_1(sign_row, sign(x))

static void sign_run(const Node *n) { broadcast_run(n, 1, sign_row); }

static Status sign_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit_float(g->graph, 0));
  return STATUS_OK;
}

CASES_OF(sign_cases) = {{"f32[2,3]"}, {"f32[5]=-2,-0.0,0,3,1"}, {0}};

const Op op_sign = {
    .name = "Sign",
    .since = {9, 13},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = sign_infer,
    .run = sign_run,
    .grad = sign_grad,
    .cases = CASES(sign_cases),
};
