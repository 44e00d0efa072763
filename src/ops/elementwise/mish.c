/* Mish: y = x·tanh(log(1 + e^x)). */
#include "graph/expansion.h"

static Status mish_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return expand_done(c, emit(g, "Mul", x, emit(g, "Tanh", emit(g, "Softplus", x))));
}

OPERATOR(mish) = {
    .name = "Mish",
    .since = {18, 22},
    .inputs = {1, 1},
    .expand = mish_expand,
    .cases = CASES({"f32[2,3]", NULL, 18}, {"f32[9]:-5..5", NULL, 18}),
};
