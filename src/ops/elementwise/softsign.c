/* Softsign: y = x / (1 + |x|). */
#include "graph/compose.h"

static Status softsign_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return compose_done(c, emit(g, "Div", x, emit(g, "Add", emit(g, "Abs", x), compose_number(c, x, 1))));
}

OPERATOR(softsign) = {
    .name = "Softsign",
    .since = {1, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = softsign_compose,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5"}),
};
