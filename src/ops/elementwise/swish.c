/* Swish: y = x / (1 + e^(-alpha·x)), which ONNX Runtime calls QuickGelu. */
#include "graph/expansion.h"

static Status swish_expand(Expansion *c) {
  AttrList alpha = ATTRS(attr_of_float("alpha", node_float(c->node, "alpha", 1)));
  return expand_done(c, emit_with(c->graph, "QuickGelu", alpha, c->node->in[0]));
}

OPERATOR(swish) = {
    .name = "Swish",
    .since = {24},
    .inputs = {1, 1},
    .expand = swish_expand,
    .cases = CASES({"f32[2,3]", NULL, 24}, {"f32[9]:-5..5", "alpha=0.7", 24}),
};
