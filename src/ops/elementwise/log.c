/* Log: y = ln x.  dx = dy / x. */
#include "ops/elementwise/arithmetic.h"
#include "kernels/double_math.h"

static double log_floats(double a, double b) { return double_log(a); }
static const Arithmetic arithmetic = {log_floats, NULL, NULL};
BROADCAST_ROW_1(log_row, f32x4_log(x))

static Status log_infer(Node *n) { return arithmetic_infer(n, &arithmetic); }
static void log_run(const Node *n) { arithmetic_run(n, log_row); }

static Status log_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Div", g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

OPERATOR(log) = {
    .name = "Log",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = log_infer,
    .run = log_run,
    .grad = log_grad,
    .cases = CASES({"f32[2,3]:0.1..2"}, {"f32[4,2]:1..1000"}),
};
