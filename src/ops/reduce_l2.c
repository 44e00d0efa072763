/* ReduceL2: y = √(Σ x²) over the axes.  dx = dy·x / y, 0 where y is. */
#include <math.h>

#include "kernels/reduce.h"
#include "kernels/reduce_fold.h"

static Status reduce_l2_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return reduce_infer(n, n->version >= 18, n->version >= 18);
}

static void reduce_l2_row(const float *x, const float *center, float *y, size_t step, size_t n) {
  for (size_t i = 0; i < n; i++) y[i * step] += x[i] * x[i];
}

static void reduce_l2_run(const Node *n) {
  float *y = out_f32(n, 0);
  size_t count = out_count(n, 0);
  for (size_t i = 0; i < count; i++) y[i] = 0;
  reduce_fold(&n->in[0]->shape, ((const Reduce *)n->params)->axes, in_f32(n, 0), NULL, y, reduce_l2_row);
  for (size_t i = 0; i < count; i++) y[i] = sqrtf(y[i]);
}

static Status reduce_l2_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  Value *zero = emit_float(g, 0), *y = n->out[0];
  Value *share = emit(g, "Where", emit(g, "Greater", y, zero), emit(g, "Div", grad->dy[0], y), zero);
  grad->dx[0] = emit(g, "Mul", n->in[0], reduce_sum_gradient(g, n, share));
  return STATUS_OK;
}

CASES_OF(reduce_l2_cases) = {{"f32[2,3,4]", "axes=[1]"}, {"f32[3,5]", "axes=[-1] keepdims=0"}, {"f32[2,3]", "keepdims=0"},
                             {"f32[2,3,4] i64[2]=0,2", NULL, 18}, {0}};

const Op op_reduce_l2 = {
    .name = "ReduceL2",
    .since = {1, 11, 13, 18},
    .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,
    .infer = reduce_l2_infer,
    .run = reduce_l2_run,
    .grad = reduce_l2_grad,
    .cases = CASES(reduce_l2_cases),
};
