/* Acosh: y = log(x + √((x - 1)(x + 1))). */
#include "graph/expansion.h"

static Status acosh_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = expand_number(c, x, 1),
        *root = emit(g, "Sqrt", emit(g, "Mul", emit(g, "Sub", x, one), emit(g, "Add", x, one)));
  return expand_done(c, emit(g, "Log", emit(g, "Add", x, root)));
}

OPERATOR(acosh) = {
    .name = "Acosh",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = acosh_expand,
    .cases = CASES({"f32[2,3]:1.2..9"}),
};
