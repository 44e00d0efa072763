/* Round: the nearest whole number, the even one of two.  dx = 0. */
#include "ops/elementwise/arithmetic.h"

static double round_floats(double a, double b) { return nearbyint(a); }
static const Arithmetic arithmetic = {round_floats, NULL, NULL};
BROADCAST_ROW_1(round_row, f32x4_nearest(x))

static Status round_infer(Node *n) { return arithmetic_infer(n, &arithmetic); }
static void round_run(const Node *n) { arithmetic_run(n, round_row); }

static Status round_grad(Grad *grad) {
  grad->dx[0] = emit(grad->graph, "Mul", grad->dy[0], emit_float(grad->graph, 0));
  return STATUS_OK;
}

OPERATOR(round) = {
    .name = "Round",
    .since = {11, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = round_infer,
    .run = round_run,
    .grad = round_grad,
    .cases = CASES({"f32[4]:0.6..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"},
                   {"v:f32[4]=0.5,1.5,-0.5,-2.5", .no_grad = "jumps"}),
};
