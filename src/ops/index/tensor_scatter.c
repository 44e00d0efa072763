/* TensorScatter: a cache of keys or values, with an update along an axis from each example's own place on. */
#include <string.h>

#include "graph/expansion.h"

/* (B, T): where the steps of each example's update go. */
static Value *places(Expansion *c, int axis, bool circular) {
  Graph *g = c->graph;
  Value *steps = expand_range(c, expand_dim(c, c->node->in[1], axis, false)), *first = expand_in(c, 2);
  Value *at = first ? emit(g, "Add", emit(g, "Reshape", first, emit_ints(g, (int64_t[]){-1, 1}, 2)), steps)
                    : emit(g, "Reshape", steps, emit_ints(g, (int64_t[]){1, -1}, 2));
  return circular ? emit(g, "Mod", at, expand_dim(c, c->node->in[0], axis, true)) : at;
}

static Status tensor_scatter_expand(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  static const char *const modes[] = {"linear", "circular"};
  int axis, rank = expand_shape(c, 0)->rank, mode, count = 0;
  int64_t others[RANK_MAX];
  TRY(node_choice(n, "mode", "linear", modes, 2, &mode));
  TRY(node_axis(n, node_int(n, "axis", -2), rank, &axis));
  TRY(node_want_rank(n, 1, rank, rank));
  if (axis == 0) return node_invalid(n, "axis is 0, the dimension of the batch");
  for (int i = 1; i < rank; i++)
    if (i != axis) others[count++] = i;
  Value *at = places(c, axis, mode == 1);
  if (count) at = emit(g, "Unsqueeze", at, emit_ints(g, others, count));
  at = emit(g, "Expand", at, emit(g, "Shape", n->in[1]));
  return expand_done(c, emit_with(g, "ScatterElements", ATTRS(attr_of_int("axis", axis)), n->in[0], at, n->in[1]));
}

OPERATOR(tensor_scatter) = {
    .name = "TensorScatter",
    .since = {24},
    .inputs = {2, 3},
    .flags = OP_ANY_TYPE,
    .expand = tensor_scatter_expand,
    .cases = CASES({"f32[2,2,5,3] f32[2,2,2,3] i64[2]=1,3", NULL, 24},
                   {"f32[2,4] f32[2,3] i64[2]=3,0", "axis=1 mode=circular", 24}, {"f32[2,4,3] f32[2,2,3]", NULL, 24}),
};
