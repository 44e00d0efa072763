/* Atanh: y = log((1 + x) / (1 - x)) / 2. */
#include "graph/expansion.h"

static Status atanh_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *one = expand_number(c, x, 1);
  Value *log = emit(g, "Log", emit(g, "Div", emit(g, "Add", one, x), emit(g, "Sub", one, x)));
  return expand_done(c, emit(g, "Mul", log, expand_number(c, x, 0.5)));
}

OPERATOR(atanh) = {
    .name = "Atanh",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = atanh_expand,
    .cases = CASES({"f32[2,3]:-0.9..0.9"}),
};
