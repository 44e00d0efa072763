/* ReduceL2: y = √(Σ x²) over the axes.  dx = dy·x / y, 0 where y is. */
#include <math.h>

#include "kernels/number.h"
#include "ops/reduce/reduce_numbers.h"

static double square_floats(double a, double x) { return a + x * x; }
static int64_t square_ints(int64_t a, int64_t x) { return (int64_t)((uint64_t)a + (uint64_t)x * (uint64_t)x); }

FOLD_ROW(reduce_l2_row, 0, a + b * b, a + b)

/* Roots of integers are rounded towards 0. */
static void roots_of_numbers(const Node *n) {
  DType type = n->in[0]->type;
  Numbers y;
  reduce_numbers(n);
  for (size_t i = 0, count = out_count(n, 0); i < count; i++) {
    numbers_load(&y, n->out[0]->data, type, i, 1, 1);
    *y.floats = sqrt(type == DTYPE_FLOAT64  ? *y.floats
                     : type == DTYPE_UINT64 ? (double)(uint64_t)*y.ints
                                            : (double)*y.ints);
    numbers_store_floats(&y, n->out[0]->data, type, i, 1);
  }
}

static void reduce_l2_run(const Node *n) {
  if (n->in[0]->type != DTYPE_FLOAT32) {
    roots_of_numbers(n);
    return;
  }
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

OPERATOR(reduce_l2) = {
    .name = "ReduceL2",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_numbers_infer,
    .run = reduce_l2_run,
    .own = &(const ReduceNumbers){0, NULL, square_floats, square_ints},
    .grad = GRADIENT(reduce_l2_grad),
    .cases = CASES({"f32[2,3,4]", "axes=[1]"}, {"f32[3,5]", "axes=[-1] keepdims=0"}, {"f32[2,3]", "keepdims=0"},
                   {"f32[2,3,4] i64[2]=0,2", NULL, 18}, {"f64[2,3,4]", "axes=[1]"}, {"v:i32[2,2]=3,-4,5,5", "axes=[1]"},
                   {"v:f32[2,2]=0,0,3,4", "axes=[1]", .kink = true}),
};
