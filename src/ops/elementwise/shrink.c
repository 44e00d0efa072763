/* Shrink: y = x + bias below -lambd, x - bias above lambd, else 0. */
#include "graph/compose.h"

static Status shrink_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *lambd = compose_number(c, x, (double)node_float(c->node, "lambd", 0.5f));
  Value *bias = compose_number(c, x, (double)node_float(c->node, "bias", 0)), *zero = compose_number(c, x, 0);
  Value *high = emit(g, "Where", emit(g, "Greater", x, lambd), emit(g, "Sub", x, bias), zero);
  return compose_done(c, emit(g, "Where", emit(g, "Less", x, emit(g, "Neg", lambd)), emit(g, "Add", x, bias), high));
}

OPERATOR(shrink) = {
    .name = "Shrink",
    .since = {9},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = shrink_compose,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5", "lambd=1.5 bias=1.5"}),
};
