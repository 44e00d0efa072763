/* Atanh: y = log((1 + x) / (1 - x)) / 2. */
#include "graph/compose.h"

static Status atanh_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = compose_number(c, x, 1);
  Value *log = emit(g, "Log", emit(g, "Div", emit(g, "Add", one, x), emit(g, "Sub", one, x)));
  return compose_done(c, emit(g, "Mul", log, compose_number(c, x, 0.5)));
}

OPERATOR(atanh) = {
    .name = "Atanh",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = atanh_compose,
    .cases = CASES({"f32[2,3]:-0.9..0.9"}),
};
