/* ArrayFeatureExtractor: columns of x, those whose numbers come as the second input. */
#include "graph/expansion.h"

static Status array_feature_extractor_expand(Expansion *c) {
  static const int64_t flat[] = {1, -1};
  Value *x = c->node->in[0];
  TRY(node_want_rank(c->node, 0, 1, RANK_MAX));
  if (x->shape.rank == 1) x = emit(c->graph, "Reshape", x, emit_ints(c->graph, flat, 2));
  Value *columns = emit(c->graph, "Reshape", c->node->in[1], emit_ints(c->graph, flat + 1, 1));
  return expand_done(c, emit_with(c->graph, "Gather", ATTRS(attr_of_int("axis", -1)), x, columns));
}

OPERATOR(array_feature_extractor) = {
    .name = "ArrayFeatureExtractor",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = array_feature_extractor_expand,
    .cases = CASES({"f32[3,4] v:i64[2]=2,0"}, {"f32[4] v:i64[1,2]=3,1"}, {"i64[2,3] v:i64[1]=1"}),
};
