/* Mean: y = Sum(x…) / how many, with NumPy broadcasting. */
#include "graph/compose.h"

static Status mean_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int count = c->node->in_count;
  Value *sum = emit_first(g, "Sum", NO_ATTRS, c->node->in, count);
  return compose_done(c, emit(g, "Div", sum, compose_number(c, x, count)));
}

CASES_OF(mean_cases) = {{"f32[2,3]"}, {"f32[2,3] f32[2,3]"}, {"f32[3] f32[2,1] f32[2,3]"}, {0}};

OPERATOR(mean) = {
    .name = "Mean",
    .since = {1, 6, 8, 13},
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = 1,
    .flags = OP_FLOAT64,
    .compose = mean_compose,
    .cases = CASES(mean_cases),
};
