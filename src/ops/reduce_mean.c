/* ReduceMean: y = Σ x / count over the axes.  dx = dy / count, expanded. */
#include "kernels/reduce.h"

static Status reduce_mean_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return reduce_infer(n, n->version >= 18, n->version >= 18);
}

static void reduce_mean_run(const Node *n) {
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

CASES_OF(reduce_mean_cases) = {
    {"f32[2,3]", "axes=[1]"},
    {"f32[2,3]", "axes=[0] keepdims=0"},
    {"f32[2,3,2,3]", "axes=[2,3]"},
    {"f32[2,3,2,3]", "axes=[0,2,3] keepdims=0"},
    {"f32[2,3,4]", "axes=[-2] keepdims=0"},
    {"f32[2,3]", "keepdims=0"},
    {"f32[2,3] i64[1]=-1", NULL, 18},
    {"f32[2,3,2] i64[2]=0,1", "keepdims=0", 18},
    {"f32[2,3]", "noop_with_empty_axes=1", 18},
    {"f32[2,3]", "axes=[1]", 1},
    {0}};

const Op op_reduce_mean = {
    .name = "ReduceMean",
    .since = {1, 11, 13, 18},
    .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,
    .infer = reduce_mean_infer,
    .run = reduce_mean_run,
    .grad = reduce_mean_grad,
    .cases = CASES(reduce_mean_cases),
};
