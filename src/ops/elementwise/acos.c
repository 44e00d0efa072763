/* Acos: y = π/2 - asin x. */
#include "graph/expansion.h"

static Status acos_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return expand_done(c, emit(g, "Sub", expand_number(c, x, 1.5707963267948966), emit(g, "Asin", x)));
}

OPERATOR(acos) = {
    .name = "Acos",
    .since = {7, 22},
    .inputs = {1, 1},
    .expand = acos_expand,
    .cases = CASES({"f32[2,3]:-0.9..0.9"}),
};
