/* ReduceL1: y = Σ |x| over the axes. */
#include "graph/expansion.h"

static Status reduce_l1_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *y = expand_sum_as(c, emit(g, "Abs", x));
  return expand_done(c, y);
}

OPERATOR(reduce_l1) = {
    .name = "ReduceL1",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .expand = reduce_l1_expand,
    .cases = CASES({"f32[2,3,4]", "axes=[1]"}, {"f32[2,3,4]", "axes=[-1] keepdims=0"}, {"f32[2,3,4]", "keepdims=0"},
                   {"f32[2,3,4] i64[2]=0,2", NULL, 18}),
};
