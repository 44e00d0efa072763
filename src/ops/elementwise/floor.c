/* Floor: the largest whole number ≤ x.  dx = 0. */
#include "ops/elementwise/arithmetic.h"

static double floor_floats(double a, double b) { return floor(a); }
static const Arithmetic arithmetic = {floor_floats, NULL, NULL};
BROADCAST_ROW_1(floor_row, f32x4_nearest(x) - f32x4_select(f32x4_nearest(x) > x, f32x4_splat(1), f32x4_splat(0)))

static Status floor_infer(Node *n) { return arithmetic_infer(n, &arithmetic); }
static void floor_run(const Node *n) { arithmetic_run(n, floor_row); }

static Status floor_grad(Grad *grad) {
  grad->dx[0] = emit(grad->graph, "Mul", grad->dy[0], emit_float(grad->graph, 0));
  return STATUS_OK;
}

OPERATOR(floor) = {
    .name = "Floor",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = floor_infer,
    .run = floor_run,
    .grad = floor_grad,
    .cases = CASES({"f32[4]:0.2..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"}),
};
