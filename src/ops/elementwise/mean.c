/* Mean: y = Sum(x…) / how many, with NumPy broadcasting. */
#include "graph/expansion.h"

static Status mean_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int count = c->node->in_count;
  Value *sum = emit_first(g, "Sum", NO_ATTRS, c->node->in, count);
  bool exact = (count & (count - 1)) == 0; /* 1 / count */
  return expand_done(c, exact ? emit(g, "Mul", sum, expand_number(c, x, 1.0 / count))
                              : emit(g, "Div", sum, expand_number(c, x, count)));
}

OPERATOR(mean) = {
    .name = "Mean",
    .since = {1, 6, 8, 13},
    .inputs = {1, -1},
    .flags = OP_FLOAT64,
    .expand = mean_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[2,3] f32[2,3]"}, {"f32[3] f32[2,1] f32[2,3]"}),
};
