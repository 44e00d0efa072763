/* LpNormalization: y = x / ‖x‖ along the axis, the 1- or 2-norm; 0 where that is 0. */
#include "graph/expansion.h"

static Status lp_normalization_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int64_t axis = node_int(c->node, "axis", -1), p = node_int(c->node, "p", 2);
  if (p != 1 && p != 2) return node_invalid(c->node, "p is %lld, not 1 or 2", (long long)p);
  Value *norm = expand_reduce(c, p == 1 ? "ReduceL1" : "ReduceL2", x, &axis, 1, true),
        *nothing = norm ? emit(g, "Equal", norm, expand_number(c, norm, 0)) : NULL;
  if (nothing) norm = emit(g, "Where", nothing, expand_number(c, norm, 1), norm);
  return expand_done(c, emit(g, "Div", x, norm));
}

OPERATOR(lp_normalization) = {
    .name = "LpNormalization",
    .since = {1, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = lp_normalization_expand,
    .cases = CASES({"f32[2,3,4]", "axis=1"}, {"f32[3,5]", "p=1"}),
};
