/* Acos: y = π/2 - asin x. */
#include "graph/compose.h"

static Status acos_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return compose_done(c, emit(g, "Sub", compose_number(c, x, 1.5707963267948966), emit(g, "Asin", x)));
}

OPERATOR(acos) = {
    .name = "Acos",
    .since = {7, 22},
    .inputs = {1, 1},
    .compose = acos_compose,
    .cases = CASES({"f32[2,3]:-0.9..0.9"}),
};
