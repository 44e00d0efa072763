/* Ceil: the smallest whole number ≥ x.  dx = 0. */
#include "kernels/broadcast.h"

static Status ceil_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(ceil_row, f32x4_nearest(x) + f32x4_select(f32x4_nearest(x) < x, f32x4_splat(1), f32x4_splat(0)))

static void ceil_run(const Node *n) { broadcast_run(n, 1, ceil_row); }

static Status ceil_grad(Grad *grad) {
  grad->dx[0] = emit(grad->graph, "Mul", grad->dy[0], emit_float(grad->graph, 0));
  return STATUS_OK;
}

CASES_OF(ceil_cases) = {{"f32[4]:0.2..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"}, {0}};

const Op op_ceil = {
    .name = "Ceil",
    .since = {1, 6, 13},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = ceil_infer,
    .run = ceil_run,
    .grad = ceil_grad,
    .cases = CASES(ceil_cases),
};
