/* ThresholdedRelu: y = x where x > alpha, else 0. */
#include "graph/compose.h"

static Status thresholded_relu_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *alpha = compose_number(c, x, (double)node_float(c->node, "alpha", 1));
  return compose_done(c, emit(g, "Where", emit(g, "Greater", x, alpha), x, compose_number(c, x, 0)));
}

OPERATOR(thresholded_relu) = {
    .name = "ThresholdedRelu",
    .since = {10, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = thresholded_relu_compose,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5", "alpha=2.5"}),
};
