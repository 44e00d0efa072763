/* EmbedLayerNormalization (com.microsoft): LayerNormalization of the sum of a word's, its place's and its segment's
 * embeddings. mask_index is how many ones there are in each row of the mask. */
#include "graph/expansion.h"

/* The first T rows of the embeddings of places, or those asked for. */
static Value *embedded_places(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  return emit(g, "Gather", n->in[3], has_in(n, 8) ? n->in[8] : expand_range(c, expand_dim(c, n->in[0], 1, false)));
}

static Status embed_layer_normalization_expand(Expansion *c) {
  static const int64_t last = 1;
  Graph *g = c->graph;
  const Node *n = c->node;
  TRY(node_want_rank(n, 0, 2, 2));
  if (!has_in(n, 5) || !has_in(n, 6)) return node_invalid(n, "gamma and beta must be there");
  if (has_in(n, 1) != has_in(n, 4)) return node_invalid(n, "segment_ids and segment_embedding come together");
  Value *sum = emit(g, "Add", emit(g, "Gather", n->in[2], n->in[0]), embedded_places(c));
  if (has_in(n, 1)) sum = emit(g, "Add", sum, emit(g, "Gather", n->in[4], n->in[1]));
  if (n->out_count > 1) {
    Value *ones = expand_cast(c, has_in(n, 7) ? n->in[7] : emit(g, "Sub", n->in[0], n->in[0]), DTYPE_FLOAT32);
    c->out[1] = expand_cast(c, expand_reduce(c, "ReduceSum", ones, &last, 1, false), DTYPE_INT32);
  }
  if (n->out_count > 2) c->out[2] = sum;
  AttrList attrs = ATTRS(attr_of_int("axis", -1), attr_of_float("epsilon", node_float(n, "epsilon", 1e-12f)));
  return expand_done(c, emit_with(g, "LayerNormalization", attrs, sum, n->in[5], n->in[6]));
}

OPERATOR(embed_layer_normalization) = {
    .name = "EmbedLayerNormalization",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 9},
    .outputs = {1, 3},
    .weights = 4 | 8 | 16,
    .scales = 1 << 5,
    .biases = 1 << 6,
    .expand = embed_layer_normalization_expand,
    .cases = CASES({"v:i32[2,3]=0,4,2,1,1,3 v:i32[2,3]=0,1,1,0,0,0 f32[5,4] f32[6,4] f32[2,4] f32[4] f32[4] "
                    "v:i32[2,3]=1,1,0,1,1,1",
                    "epsilon=0.1", 0, 3},
                   {"v:i32[2,3]=0,4,2,1,1,3 - f32[5,4] f32[6,4] - f32[4] f32[4]", NULL, 0, 2},
                   {"v:i32[1,3]=0,4,2 - f32[5,4] f32[6,4] - f32[4] f32[4] - v:i32[1,3]=5,0,1", "epsilon=0.5", 0, 2}),
};
