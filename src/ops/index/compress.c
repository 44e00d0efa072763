/* Compress: the slices along the axis, or the elements of all of x, at which the condition is true. */
#include "graph/expansion.h"

static Status compress_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis = 0;
  bool flat = node_attr(c->node, "axis", ATTR_INT) == NULL;
  TRY(node_want_type(c->node, 1, DTYPE_BOOL));
  TRY(node_want_rank(c->node, 1, 1, 1));
  if (!flat) TRY(node_axis(c->node, node_int(c->node, "axis", 0), x->shape.rank, &axis));
  Value *all = emit_ints(g, (int64_t[]){-1}, 1), *from = flat ? emit(g, "Reshape", x, all) : x;
  Value *kept = emit(g, "Reshape", emit(g, "NonZero", c->node->in[1]), all);
  return expand_done(c, emit_with(g, "Gather", ATTRS(attr_of_int("axis", axis)), from, kept));
}

OPERATOR(compress) = {
    .name = "Compress",
    .since = {9, 11},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE,
    .expand = compress_expand,
    .cases = CASES({"f32[3,2] bool[3]=1,0,1", "axis=0"}, {"f32[3,2] bool[5]=0,1,0,0,1"}),
};
