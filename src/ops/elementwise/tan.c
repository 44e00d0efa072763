/* Tan: y = sin x / cos x. */
#include "graph/expansion.h"

static Status tan_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return expand_done(c, emit(g, "Div", emit(g, "Sin", x), emit(g, "Cos", x)));
}

OPERATOR(tan) = {
    .name = "Tan",
    .since = {7, 22},
    .inputs = {1, 1},
    .expand = tan_expand,
    .cases = CASES({"f32[2,3]:-1.2..1.2"}),
};
