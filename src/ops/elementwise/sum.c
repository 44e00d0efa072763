/* Sum: y = x0 + x1 + …, in that order, with NumPy broadcasting.  dxi = dy. */
#include "ops/elementwise/arithmetic.h"

static double sum_floats(double a, double b) { return a + b; }
BROADCAST_ROW_2_LONG(sum_row, a + b)

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
    .infer = arithmetic_fold_infer,
    .run = arithmetic_fold_run,
    .own = &(const Arithmetic){sum_row, sum_floats},
    .grad = GRADIENT(sum_grad),
    .cases = CASES({"f32[5]"}, {"f32[2,3] f32[2,3]"}, {"f32[3,7] f32[3,7] f32[3,7]"},
                   {"f32[3] f32[2,1] f32[2,3] f32[]"}, {"f32[2100] f32[2100] f32[2100] f32[2100]"}),
};
