/* FeatureVectorizer: its inputs side by side, in float32; each as wide as inputdimensions says, cut off or filled with
 * 0. */
#include "ops/ml/linear.h"

/* Filled with 0 as far as it may be necessary, then cut off. */
static Value *as_wide(Expansion *c, Value *x, int64_t width) {
  static const int64_t columns = 1, start = 0;
  Dim came = x->shape.dim[1];
  if (came == width) return x;
  if (dim_is_symbol(came) || came < width)
    x = emit(c->graph, "Pad", x,
             emit_ints(c->graph, (int64_t[]){0, 0, 0, dim_is_symbol(came) ? width : width - came}, 4));
  return emit(c->graph, "Slice", x, emit_ints(c->graph, &start, 1), emit_ints(c->graph, &width, 1),
              emit_ints(c->graph, &columns, 1));
}

static Status feature_vectorizer_expand(Expansion *c) {
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
    if (widths[i] < 0) return node_invalid(n, "inputdimensions has %lld", (long long)widths[i]);
    Value *flat = expand_cast(c, n->in[i], DTYPE_FLOAT32);
    if (x->rank != 2) flat = emit(c->graph, "Reshape", flat, emit_ints(c->graph, x->rank == 1 ? one_row : row, 2));
    parts[i] = flat ? as_wide(c, flat, widths[i]) : NULL;
  }
  return expand_done(c, emit_first(c->graph, "Concat", ATTRS(attr_of_int("axis", 1)), parts, n->in_count));
}

OPERATOR(feature_vectorizer) = {
    .name = "FeatureVectorizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, -1},
    .flags = OP_ANY_TYPE,
    .expand = feature_vectorizer_expand,
    .cases = CASES({"f32[3,2] i64[3,1]", "inputdimensions=[2,1]"}, {"f32[3] f32[1,2]", "inputdimensions=[4,1]"}),
};
