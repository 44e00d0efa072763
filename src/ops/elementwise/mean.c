/* Mean: y = Sum(x…) / how many, with NumPy broadcasting. */
#include "graph/compose.h"

static Status mean_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int count = c->node->in_count;
  Value *sum = emit_first(g, "Sum", NO_ATTRS, c->node->in, count);
  bool exact = (count & (count - 1)) == 0; /* 1 / count */
  return compose_done(c, exact ? emit(g, "Mul", sum, compose_number(c, x, 1.0 / count))
                               : emit(g, "Div", sum, compose_number(c, x, count)));
}

OPERATOR(mean) = {
    .name = "Mean",
    .since = {1, 6, 8, 13},
    .inputs = {1, -1},
    .flags = OP_FLOAT64,
    .compose = mean_compose,
    .cases = CASES({"f32[2,3]"}, {"f32[2,3] f32[2,3]"}, {"f32[3] f32[2,1] f32[2,3]"}),
};
