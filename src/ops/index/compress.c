/* Compress: the slices along the axis, or the elements of all of x, at which the condition is true. */
#include "graph/compose.h"

static Status compress_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  const void *data;
  size_t count;
  int axis = 0;
  bool flat = node_attr(c->node, "axis", ATTR_INT) == NULL;
  TRY(node_want_type(c->node, 1, DTYPE_BOOL));
  TRY(node_want_rank(c->node, 1, 1, 1));
  if (!flat) TRY(node_axis(c->node, node_int(c->node, "axis", 0), x->shape.rank, &axis));
  TRY(node_contents(c->node, 1, &data));
  shape_count(&c->node->in[1]->shape, &count);
  int64_t *kept = ARENA_ARRAY(g->arena, int64_t, count), kept_count = 0;
  for (size_t i = 0; kept && i < count; i++)
    if (((const uint8_t *)data)[i]) kept[kept_count++] = (int64_t)i;
  if (!kept) return STATUS_OUT_OF_MEMORY;
  Value *from = flat ? emit(g, "Reshape", x, emit_ints(g, (int64_t[]){-1}, 1)) : x;
  return compose_done(
      c, emit_with(g, "Gather", ATTRS(attr_of_int("axis", axis)), from, emit_ints(g, kept, (int)kept_count)));
}

OPERATOR(compress) = {
    .name = "Compress",
    .since = {9, 11},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE,
    .compose = compress_compose,
    .cases = CASES({"f32[3,2] bool[3]=1,0,1", "axis=0"}, {"f32[3,2] bool[5]=0,1,0,0,1"}),
};
