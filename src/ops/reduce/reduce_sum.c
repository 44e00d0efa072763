/* ReduceSum: y = Σ x over the axes.  dx = dy, expanded. */
#include "ops/reduce/reduce_numbers.h"
#include "graph/upgrade.h"

static double sum_floats(double a, double x) { return a + x; }
static int64_t sum_ints(int64_t a, int64_t x) { return (int64_t)((uint64_t)a + (uint64_t)x); }

static Status reduce_sum_infer(Node *n) {
  TRY(reduce_numbers_check(n));
  return reduce_infer(n, true, true);
}

static void reduce_sum_run(const Node *n) {
  unsigned axes = ((const Reduce *)n->params)->axes;
  if (n->in[0]->type != DTYPE_FLOAT32) reduce_numbers(n);
  else reduce_sum(&n->in[0]->shape, axes, in_f32(n, 0), out_f32(n, 0));
}

static Status reduce_sum_grad(Grad *g) {
  g->dx[0] = reduce_sum_gradient(g->graph, g->node, g->dy[0]);
  return STATUS_OK;
}

static Status reduce_sum_upgrade(Upgrade *u) { return upgrade_move(u, "axes", 1, 13), STATUS_OK; }

static Counted reduce_sum_counted(const Node *n) { return reduce_counted(n, true); }

OPERATOR(reduce_sum) = {
    .name = "ReduceSum",
    .since = {1, 11, 13},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_sum_infer,
    .run = reduce_sum_run,
    .own = &(const ReduceNumbers){0, NULL, sum_floats, sum_ints},
    .grad = GRADIENT(reduce_sum_grad),
    .counted = reduce_sum_counted,
    .upgrade = reduce_sum_upgrade,
    .cases = CASES({"f32[2,3] i64[1]=1"}, {"f32[2,3] i64[1]=0", "keepdims=0"}, {"f32[2,3,4] i64[1]=1", "keepdims=0"},
                   {"f32[2,3,2,3] i64[3]=0,-2,-1", "keepdims=0"}, {"f32[3,2,2,5] i64[2]=0,2"},
                   {"f32[2,3,2,3,2] i64[2]=1,3", "keepdims=0"}, {"f32[2,3]", "keepdims=0"}, {"f32[2,3] i64[0]="},
                   {"f32[2,3] i64[0]=", "noop_with_empty_axes=1"}, {"f32[150,70] i64[1]=0"}, {"f32[2,0,3] i64[1]=1"},
                   {"v:i64[2,3]=1,2,3,4,5,6 i64[1]=0", "keepdims=0"}, {"f32[2,3,4]", "axes=[-1] keepdims=0", 12},
                   {"f32[2,3,4]", "axes=[0,2]", 12}, {"f32[2,3]", NULL, 1}, {"f32[2,3,4]", "axes=[0] keepdims=0", 11},
                   {"f32[2,3,0] i64[1]=1", "keepdims=0"}),
};
