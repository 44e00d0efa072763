/* Cosh: y = (e^x + e^-x) / 2. */
#include "graph/expansion.h"

static Status cosh_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *sum = emit(g, "Add", emit(g, "Exp", x), emit(g, "Exp", emit(g, "Neg", x)));
  return expand_done(c, emit(g, "Mul", sum, expand_number(c, x, 0.5)));
}

OPERATOR(cosh) = {
    .name = "Cosh",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = cosh_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5"}),
};
