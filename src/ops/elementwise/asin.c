/* Asin: y = atan(x / √((1 - x)(1 + x))). */
#include "graph/compose.h"

static Status asin_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = compose_number(c, x, 1),
        *root = emit(g, "Sqrt", emit(g, "Mul", emit(g, "Sub", one, x), emit(g, "Add", one, x)));
  return compose_done(c, emit(g, "Atan", emit(g, "Div", x, root)));
}

OPERATOR(asin) = {
    .name = "Asin",
    .since = {7, 22},
    .inputs = {1, 1},
    .compose = asin_compose,
    .cases = CASES({"f32[2,3]:-0.9..0.9"}, {"v:f32[3]=1,-1,0", .no_grad = "infinite at ±1"}),
};
