/* FeatureVectorizer: its inputs side by side, in float32. */
#include "ops/ml/linear.h"

static Status feature_vectorizer_compose(Compose *c) {
  const Node *n = c->node;
  static const int64_t row[] = {0, -1}, one_row[] = {1, -1};
  int count;
  const int64_t *widths = node_ints(n, "inputdimensions", &count);
  if (count != n->in_count) return node_invalid(n, "inputdimensions has %d numbers for %d inputs", count, n->in_count);
  Value **parts = ARENA_ARRAY(c->graph->arena, Value *, n->in_count);
  if (!parts) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < n->in_count; i++) {
    const Shape *x = &n->in[i]->shape;
    TRY(node_want_rank(n, i, 1, RANK_MAX));
    size_t width = 0;
    Shape features = {.rank = x->rank - (x->rank > 1)};
    for (int d = 0; d < features.rank; d++) features.dim[d] = x->dim[d + (x->rank > 1)];
    if (shape_is_concrete(&features) && (!shape_count(&features, &width) || (int64_t)width != widths[i]))
      return node_invalid(n, "input %d has %zu features, inputdimensions says %lld", i, width, (long long)widths[i]);
    Value *flat = compose_cast(c, n->in[i], DTYPE_FLOAT32);
    parts[i] = x->rank == 2 ? flat
                            : emit(c->graph, "Reshape", flat, emit_ints(c->graph, x->rank == 1 ? one_row : row, 2));
  }
  return compose_done(c, emit_first(c->graph, "Concat", ATTRS(attr_of_int("axis", 1)), parts, n->in_count));
}

OPERATOR(feature_vectorizer) = {
    .name = "FeatureVectorizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, -1},
    .flags = OP_ANY_TYPE,
    .compose = feature_vectorizer_compose,
    .cases = CASES({"f32[3,2] i64[3,1]", "inputdimensions=[2,1]"}, {"f32[3] f32[1,2]", "inputdimensions=[3,2]"}),
};
