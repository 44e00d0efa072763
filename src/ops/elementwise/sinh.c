/* Sinh: y = tanh x·cosh x, accurate near 0, too. */
#include "graph/expansion.h"

static Status sinh_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return expand_done(c, emit(g, "Mul", emit(g, "Tanh", x), emit(g, "Cosh", x)));
}

OPERATOR(sinh) = {
    .name = "Sinh",
    .since = {9, 22},
    .inputs = {1, 1},
    .expand = sinh_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5"}),
};
