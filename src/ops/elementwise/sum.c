/* Sum: y = x0 + x1 + …, in that order, with NumPy broadcasting.  dxi = dy. */
#include "ops/elementwise/arithmetic.h"

static double sum_floats(double a, double b) { return a + b; }
static const Arithmetic arithmetic = {sum_floats, NULL, NULL};
BROADCAST_ROW_2(sum_row, a + b)

static Status sum_infer(Node *n) { return arithmetic_fold_infer(n, &arithmetic); }
static void sum_run(const Node *n) { arithmetic_fold_run(n, sum_row); }

static Status sum_grad(Grad *g) {
  for (int i = 0; i < g->node->in_count; i++) g->dx[i] = g->dy[0];
  return STATUS_OK;
}

OPERATOR(sum) = {
    .name = "Sum",
    .since = {1, 6, 8, 13},
    .inputs = {1, -1},
    .in_place = ~0u,
    .flags = OP_FLOAT64,
    .infer = sum_infer,
    .run = sum_run,
    .grad = sum_grad,
    .cases = CASES({"f32[5]"}, {"f32[2,3] f32[2,3]"}, {"f32[3,7] f32[3,7] f32[3,7]"},
                   {"f32[3] f32[2,1] f32[2,3] f32[]"}, {"f32[2100] f32[2100] f32[2100] f32[2100]"}),
};
