/* ReduceMax: the largest of x over the axes; NaN if one is.  dy goes to where x = y, in equal shares. */
#include <math.h>

#include "ops/reduce/reduce_numbers.h"
#include "ops/reduce/reduce_fold.h"

static double max_floats(double a, double x) { return x > a || x != x ? x : a; }
static int64_t max_ints(int64_t a, int64_t x) { return x > a ? x : a; }
static const ReduceNumbers of_numbers = {-INFINITY, max_floats, max_ints};

static Status reduce_max_infer(Node *n) {
  TRY(reduce_numbers_check(n, &of_numbers));
  return reduce_infer(n, n->version >= 18, n->version >= 18);
}

static void reduce_max_row(const float *x, const float *center, float *y, size_t step, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float v = x[i], *to = y + i * step;
    *to = v > *to || v != v ? v : *to;
  }
}

static void reduce_max_run(const Node *n) {
  if (n->in[0]->type != DTYPE_FLOAT32) {
    reduce_numbers(n, &of_numbers);
    return;
  }
  float *y = out_f32(n, 0);
  for (size_t i = 0, count = out_count(n, 0); i < count; i++) y[i] = -INFINITY;
  reduce_fold(&n->in[0]->shape, ((const Reduce *)n->params)->axes, in_f32(n, 0), NULL, y, reduce_max_row);
}

OPERATOR(reduce_max) = {
    .name = "ReduceMax",
    .since = {1, 11, 12, 13, 18, 20},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_max_infer,
    .run = reduce_max_run,
    .grad = reduce_fold_gradient,
    .cases = CASES({"f32[2,3,4]", "axes=[1]"}, {"f32[3,5]", "axes=[-1] keepdims=0"}, {"f32[2,3,4]", "keepdims=0"},
                   {"f32[2,3,4] i64[2]=0,2", NULL, 18}, {"f32[2,3]", "noop_with_empty_axes=1", 18},
                   {"v:f32[2,3]=1,2,2,-1,-1,-1", "axes=[1]", .kink = true}),
};
