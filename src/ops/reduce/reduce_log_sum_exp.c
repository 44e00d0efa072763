/* ReduceLogSumExp: y = m + log Σ e^(x - m) over the axes, m the largest x.  dx = dy·e^(x - y). */
#include <math.h>

#include "kernels/double_math.h"
#include "ops/reduce/reduce_numbers.h"
#include "kernels/vector_math.h"

static double log_sum_exp_floats(double a, double x) {
  return a == x ? a + double_log(2)
       : a > x  ? a + double_log(1 + double_exp(x - a))
                : x + double_log(1 + double_exp(a - x));
}

static Status reduce_log_sum_exp_infer(Node *n) {
  TRY(reduce_numbers_infer(n));
  if (has_out(n, 0) && shape_is_concrete(&n->out[0]->shape)) n->scratch_bytes = out_count(n, 0) * sizeof(float);
  return STATUS_OK;
}

static void exp_row(const float *x, const float *center, float *y, size_t step, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    f32x4 v = f32x4_load_up_to(x + i, n - i);
    v = f32x4_exp(step ? v - f32x4_load_up_to(center + i, n - i) : v - *center);
    for (size_t k = 0; k < 4 && i + k < n; k++) y[(i + k) * step] += v[k];
  }
}

static void reduce_log_sum_exp_run(const Node *n) {
  if (n->in[0]->type != DTYPE_FLOAT32) {
    reduce_numbers(n);
    return;
  }
  const Shape *shape = &n->in[0]->shape;
  unsigned axes = ((const Reduce *)n->params)->axes;
  float *y = out_f32(n, 0), *max = n->scratch;
  size_t count = out_count(n, 0);
  for (size_t i = 0; i < count; i++) max[i] = -INFINITY, y[i] = 0;
  reduce_fold(shape, axes, in_f32(n, 0), NULL, max, reduce_fold_max);
  for (size_t i = 0; i < count; i++) max[i] = isfinite(max[i]) ? max[i] : 0; /* all -inf: log 0, not inf - inf */
  reduce_fold(shape, axes, in_f32(n, 0), max, y, exp_row);
  for (size_t i = 0; i < count; i += 4)
    f32x4_store_up_to(y + i, f32x4_load_up_to(max + i, count - i) + f32x4_log(f32x4_load_up_to(y + i, count - i)),
                      count - i);
}

static Status reduce_log_sum_exp_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  Value *share = emit(g, "Exp", emit(g, "Sub", n->in[0], reduce_sum_gradient(g, n, n->out[0])));
  grad->dx[0] = emit(g, "Mul", share, reduce_sum_gradient(g, n, grad->dy[0]));
  return STATUS_OK;
}

OPERATOR(reduce_log_sum_exp) = {
    .name = "ReduceLogSumExp",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_log_sum_exp_infer,
    .run = reduce_log_sum_exp_run,
    .own = &(const ReduceNumbers){-INFINITY, NULL, log_sum_exp_floats},
    .grad = GRADIENT(reduce_log_sum_exp_grad),
    .cases = CASES({"f32[2,3,5]:-9..9", "axes=[1]"}, {"f32[3,5]", "axes=[-1] keepdims=0"}, {"f32[2,3]", "keepdims=0"},
                   {"f32[2,3,4]:100..200 i64[2]=0,2", NULL, 18}),
};
