/* Asin: y = atan(x / √((1 - x)(1 + x))). */
#include "graph/expansion.h"

static Status asin_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = expand_number(c, x, 1),
        *root = emit(g, "Sqrt", emit(g, "Mul", emit(g, "Sub", one, x), emit(g, "Add", one, x)));
  return expand_done(c, emit(g, "Atan", emit(g, "Div", x, root)));
}

OPERATOR(asin) = {
    .name = "Asin",
    .since = {7, 22},
    .inputs = {1, 1},
    .expand = asin_expand,
    .cases = CASES({"f32[2,3]:-0.9..0.9"}, {"v:f32[3]=1,-1,0", .no_grad = "infinite at ±1"}),
};
