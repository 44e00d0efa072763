/* Exp: y = e^x.  dx = dy·y. */
#include "ops/elementwise/arithmetic.h"
#include "kernels/double_math.h"

static double exp_floats(double a, double b) { return double_exp(a); }
static const Arithmetic arithmetic = {exp_floats, NULL, NULL};
BROADCAST_ROW_1(exp_row, f32x4_exp(x))

static Status exp_infer(Node *n) { return arithmetic_infer(n, &arithmetic); }
static void exp_run(const Node *n) { arithmetic_run(n, exp_row); }

static Status exp_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(exp) = {
    .name = "Exp",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = exp_infer,
    .run = exp_run,
    .grad = exp_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-20..4"}),
};
