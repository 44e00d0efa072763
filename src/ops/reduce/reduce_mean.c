/* ReduceMean: y = Σ x / count over the axes.  dx = dy / count, expanded. */
#include "kernels/number.h"
#include "ops/reduce/reduce_numbers.h"

static double sum_floats(double a, double x) { return a + x; }
static int64_t sum_ints(int64_t a, int64_t x) { return (int64_t)((uint64_t)a + (uint64_t)x); }

/* Means of integers are rounded towards 0. */
static void mean_of_numbers(const Node *n) {
  DType type = n->in[0]->type;
  size_t count = reduce_count(n);
  Numbers y;
  reduce_numbers(n);
  for (size_t i = 0, results = out_count(n, 0); i < results && count; i++) {
    numbers_load(&y, n->out[0]->data, type, i, 1, 1);
    if (type == DTYPE_FLOAT64) *y.floats /= (double)count, numbers_store_floats(&y, n->out[0]->data, type, i, 1);
    else {
      *y.ints = type == DTYPE_UINT64 ? (int64_t)((uint64_t)*y.ints / count) : *y.ints / (int64_t)count;
      numbers_store_ints(&y, n->out[0]->data, type, i, 1);
    }
  }
}

static void reduce_mean_run(const Node *n) {
  if (n->in[0]->type != DTYPE_FLOAT32) {
    mean_of_numbers(n);
    return;
  }
  float *y = out_f32(n, 0), count = (float)reduce_count(n);
  reduce_sum(&n->in[0]->shape, ((const Reduce *)n->params)->axes, in_f32(n, 0), y);
  for (size_t i = 0, results = out_count(n, 0); i < results; i++) y[i] /= count;
}

/* False when a reduced dim is a symbol. */
static bool count_is_number(const Node *n) {
  const Reduce *p = n->params;
  const Shape *x = &n->in[0]->shape;
  for (int i = 0; i < x->rank; i++)
    if (p->axes >> i & 1 && !dim_is_number(x->dim[i])) return false;
  return p->known;
}

/* dy / count, where count = size(x) / size(dy) if it is not a number yet */
static Status reduce_mean_grad(Grad *g) {
  Graph *graph = g->graph;
  Node *n = g->node;
  Value *share;
  if (count_is_number(n)) share = emit(graph, "Mul", g->dy[0], emit_float(graph, 1 / (float)reduce_count(n)));
  else {
    Value *count = emit(graph, "Div", emit(graph, "Size", n->in[0]), emit(graph, "Size", g->dy[0]));
    share = emit_with(graph, "Scale", ATTRS(attr_of_int("scale_down", 1)), g->dy[0], count);
  }
  g->dx[0] = reduce_sum_gradient(graph, n, share);
  return STATUS_OK;
}

static Counted reduce_mean_counted(const Node *n) { return reduce_counted(n, false); }

OPERATOR(reduce_mean) = {
    .name = "ReduceMean",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_numbers_infer,
    .run = reduce_mean_run,
    .own = &(const ReduceNumbers){0, NULL, sum_floats, sum_ints},
    .grad = GRADIENT(reduce_mean_grad),
    .counted = reduce_mean_counted,
    .cases = CASES({"f32[2,3]", "axes=[1]"}, {"f32[2,3]", "axes=[0] keepdims=0"}, {"f32[2,3,2,3]", "axes=[2,3]"},
                   {"f32[2,3,2,3]", "axes=[0,2,3] keepdims=0"}, {"f32[2,3,4]", "axes=[-2] keepdims=0"},
                   {"f32[2,3]", "keepdims=0"}, {"f32[2,3] i64[1]=-1", NULL, 18},
                   {"f32[2,3,2] i64[2]=0,1", "keepdims=0", 18}, {"f32[2,3]", "noop_with_empty_axes=1", 18},
                   {"f64[2,3,4]", "axes=[0,2]"}, {"v:i32[2,2]=3,-6,5,-9", "axes=[1]"}, {"f32[2,3]", "axes=[1]", 1}),
};
