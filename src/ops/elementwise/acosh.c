/* Acosh: y = log(x + √((x - 1)(x + 1))). */
#include "graph/compose.h"

static Status acosh_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = compose_number(c, x, 1),
        *root = emit(g, "Sqrt", emit(g, "Mul", emit(g, "Sub", x, one), emit(g, "Add", x, one)));
  return compose_done(c, emit(g, "Log", emit(g, "Add", x, root)));
}

CASES_OF(acosh_cases) = {{"f32[2,3]:1.2..9"}, {0}};

OPERATOR(acosh) = {
    .name = "Acosh",
    .since = {9, 22},
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = OP_FLOAT64,
    .compose = acosh_compose,
    .cases = CASES(acosh_cases),
};
