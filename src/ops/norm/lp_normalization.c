/* LpNormalization: y = x / ‖x‖ along the axis, the 1- or 2-norm. */
#include "graph/compose.h"

static Status lp_normalization_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int64_t axis = node_int(c->node, "axis", -1), p = node_int(c->node, "p", 2);
  if (p != 1 && p != 2) return node_invalid(c->node, "p is %lld, not 1 or 2", (long long)p);
  return compose_done(c, emit(g, "Div", x, compose_reduce(c, p == 1 ? "ReduceL1" : "ReduceL2", x, &axis, 1, true)));
}

OPERATOR(lp_normalization) = {
    .name = "LpNormalization",
    .since = {1, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = lp_normalization_compose,
    .cases = CASES({"f32[2,3,4]", "axis=1"}, {"f32[3,5]", "p=1"}),
};
