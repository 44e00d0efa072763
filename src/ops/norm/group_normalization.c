/* GroupNormalization: y = scale·(x - mean) / √(variance + epsilon) + bias, over groups of channels. */
#include "graph/expansion.h"

static Status group_normalization_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Node *n = c->node;
  int64_t groups = node_int(n, "num_groups", 0);
  Dim channels = x->shape.rank > 1 ? x->shape.dim[1] : 0;
  TRY(node_want_rank(n, 0, 3, RANK_MAX));
  if (groups < 1 || !dim_divides(channels, groups))
    return node_invalid(n, "the channels must be a multiple of num_groups %lld", (long long)groups);
  Value *grouped = emit(g, "Reshape", x, emit_ints(g, (int64_t[]){0, groups, -1}, 3));
  Value *y = expand_normalize(c, grouped, (double)node_float(n, "epsilon", 1e-5f));
  bool by_group = n->version < 21; /* scale and bias are per group, since opset 21 per channel */
  if (!by_group) y = expand_reshape(c, y, (Size[]){SIZE_NUMBER(0), SIZE_DIM(x, 1), SIZE_NUMBER(-1)}, 3);
  Value *one_more = emit_ints(g, (int64_t[]){-1, 1}, 2);
  y = emit(g, "Add", emit(g, "Mul", y, emit(g, "Reshape", n->in[1], one_more)), emit(g, "Reshape", n->in[2], one_more));
  return expand_done(c, emit(g, "Reshape", y, emit_shape(g, x)));
}

OPERATOR(group_normalization) = {
    .name = "GroupNormalization",
    .since = {18, 21},
    .inputs = {3, 3},
    .scales = 2,
    .biases = 4,
    .expand = group_normalization_expand,
    .cases = CASES({"f32[2,4,2,3] f32[2] f32[2]", "num_groups=2", 18},
                   {"f32[2,6,5] f32[6] f32[6]", "num_groups=3 epsilon=0.1", 21}),
};
