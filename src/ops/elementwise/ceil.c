/* Ceil: the smallest whole number ≥ x.  dx = 0. */
#include "ops/elementwise/arithmetic.h"

static double ceil_floats(double a, double b) { return ceil(a); }
static const Arithmetic arithmetic = {ceil_floats, NULL, NULL};
BROADCAST_ROW_1(ceil_row, f32x4_nearest(x) + f32x4_select(f32x4_nearest(x) < x, f32x4_splat(1), f32x4_splat(0)))

static Status ceil_infer(Node *n) { return arithmetic_infer(n, &arithmetic); }
static void ceil_run(const Node *n) { arithmetic_run(n, ceil_row); }

static Status ceil_grad(Grad *grad) {
  grad->dx[0] = emit(grad->graph, "Mul", grad->dy[0], emit_float(grad->graph, 0));
  return STATUS_OK;
}

OPERATOR(ceil) = {
    .name = "Ceil",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = ceil_infer,
    .run = ceil_run,
    .grad = ceil_grad,
    .cases = CASES({"f32[4]:0.2..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"}),
};
