/* Acosh: y = log(x + √((x - 1)(x + 1))). */
#include "graph/compose.h"

static Status acosh_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = compose_number(c, x, 1),
        *root = emit(g, "Sqrt", emit(g, "Mul", emit(g, "Sub", x, one), emit(g, "Add", x, one)));
  return compose_done(c, emit(g, "Log", emit(g, "Add", x, root)));
}

OPERATOR(acosh) = {
    .name = "Acosh",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = acosh_compose,
    .cases = CASES({"f32[2,3]:1.2..9"}),
};
