/* SkipLayerNormalization (com.microsoft): LayerNormalization of input + skip (+ bias), scaled by gamma and moved by
 * beta. */
#include "graph/expansion.h"

static Status skip_layer_normalization_expand(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  Value *sum = emit(g, "Add", n->in[0], n->in[1]);
  if (has_in(n, 4)) sum = emit(g, "Add", sum, n->in[4]);
  AttrList attrs = ATTRS(attr_of_int("axis", -1), attr_of_float("epsilon", node_float(n, "epsilon", 1e-12f)));
  if (n->out_count > 3) c->out[3] = sum;
  return expand_done(c, has_in(n, 3) ? emit_with(g, "LayerNormalization", attrs, sum, n->in[2], n->in[3])
                                     : emit_with(g, "LayerNormalization", attrs, sum, n->in[2]));
}

OPERATOR(skip_layer_normalization) = {
    .name = "SkipLayerNormalization",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 5},
    .outputs = {1, 4},
    .scales = 4,
    .biases = 8 | 16,
    .expand = skip_layer_normalization_expand,
    .cases = CASES({"f32[2,3,6] f32[2,3,6] f32[6] f32[6] f32[6]", "epsilon=0.1"}, {"f32[2,3,6] f32[3,6] f32[6]"}),
};
