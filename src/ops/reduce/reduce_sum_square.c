/* ReduceSumSquare: y = Σ x² over the axes. */
#include "graph/expansion.h"

static Status reduce_sum_square_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *y = expand_sum_as(c, emit(g, "Mul", x, x));
  return expand_done(c, y);
}

OPERATOR(reduce_sum_square) = {
    .name = "ReduceSumSquare",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .expand = reduce_sum_square_expand,
    .cases = CASES({"f32[2,3,4]", "axes=[1]"}, {"f32[2,3,4]", "axes=[-1] keepdims=0"}, {"f32[2,3,4]", "keepdims=0"},
                   {"f32[2,3,4] i64[2]=0,2", NULL, 18}),
};
