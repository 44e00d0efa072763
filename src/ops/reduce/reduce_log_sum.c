/* ReduceLogSum: y = log Σ x over the axes. */
#include "graph/expansion.h"

static Status reduce_log_sum_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *y = expand_sum_as(c, x);
  return expand_done(c, emit(g, "Log", y));
}

OPERATOR(reduce_log_sum) = {
    .name = "ReduceLogSum",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .expand = reduce_log_sum_expand,
    .cases = CASES({"f32[2,3,4]:0.5..2", "axes=[1]"}, {"f32[2,3,4]:0.5..2", "axes=[-1] keepdims=0"},
                   {"f32[2,3,4]:0.5..2", "keepdims=0"}, {"f32[2,3,4]:0.5..2 i64[2]=0,2", NULL, 18}),
};
