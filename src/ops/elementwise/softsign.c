/* Softsign: y = x / (1 + |x|). */
#include "graph/compose.h"

static Status softsign_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return compose_done(c, emit(g, "Div", x, emit(g, "Add", emit(g, "Abs", x), compose_number(c, x, 1))));
}

CASES_OF(softsign_cases) = {{"f32[2,3]"}, {"f32[9]:-5..5"}, {0}};

OPERATOR(softsign) = {
    .name = "Softsign",
    .since = {1, 22},
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = OP_FLOAT64,
    .compose = softsign_compose,
    .cases = CASES(softsign_cases),
};
