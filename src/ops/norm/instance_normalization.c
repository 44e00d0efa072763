/* InstanceNormalization: y = scale·(x - mean) / √(variance + epsilon) + bias, over each plane. */
#include "graph/expansion.h"

static Status instance_normalization_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0], *one_more = emit_ints(g, (int64_t[]){-1, 1}, 2);
  TRY(node_want_rank(c->node, 0, 3, RANK_MAX));
  Value *planes = emit(g, "Reshape", x, emit_ints(g, (int64_t[]){0, 0, -1}, 3));
  Value *y = expand_normalize(c, planes, (double)node_float(c->node, "epsilon", 1e-5f));
  y = emit(g, "Mul", y, emit(g, "Reshape", c->node->in[1], one_more));
  y = emit(g, "Add", y, emit(g, "Reshape", c->node->in[2], one_more));
  return expand_done(c, emit(g, "Reshape", y, emit_shape(g, x)));
}

OPERATOR(instance_normalization) = {
    .name = "InstanceNormalization",
    .since = {1, 6, 22},
    .inputs = {3, 3},
    .scales = 2,
    .biases = 4,
    .expand = instance_normalization_expand,
    .cases = CASES({"f32[2,3,2,3] f32[3] f32[3]"}, {"f32[2,3,5] f32[3] f32[3]", "epsilon=0.1"}),
};
