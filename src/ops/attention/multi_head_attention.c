/* MultiHeadAttention (com.microsoft): query (N, T, H · D), key and value (N, S, H · D) or (N, H, S, D), to all of which
 * a bias is added; then the attention of each head. A key_padding_mask hides keys, an attention_bias is added to the
 * scores. */
#include "ops/attention/attention_pieces.h"

/* The bias is one vector with three parts. */
static Status add_biases(Expansion *c, Value *x[3]) {
  const Node *n = c->node;
  Size sizes[3];
  Value *parts[3];
  if (!has_in(n, 3)) return STATUS_OK;
  for (int i = 0; i < 3; i++) {
    TRY(node_want_rank(n, i, 3, 3));
    sizes[i] = SIZE_DIM(x[i], 2);
  }
  if (!expand_split(c, n->in[3], 0, expand_sizes(c, NULL, sizes, 3), 3, parts)) return c->graph->error->status;
  for (int i = 0; i < 3; i++) x[i] = emit(c->graph, "Add", x[i], parts[i]);
  return STATUS_OK;
}

static Status multi_head_attention_expand(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  int64_t heads = node_int(n, "num_heads", 0);
  if (!has_in(n, 1) || !has_in(n, 2))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "query, key and value packed in one are not supported");
  TRY(node_want_rank(n, 0, 3, 3));
  for (int i = 1; i < 3; i++) TRY(node_want_rank(n, i, 3, 4));
  for (int i = 6; i < 8; i++) TRY(node_want_rank(n, i, 4, 4));
  for (int i = 0; i < 3; i++)
    if (expand_shape(c, i)->rank == 3 && (heads < 1 || !dim_divides(expand_shape(c, i)->dim[2], heads)))
      return node_invalid(n, "num_heads is %lld, input %d is no multiple of it", (long long)heads, i);
  Value *x[] = {n->in[0], n->in[1], n->in[2]};
  TRY(add_biases(c, x));
  for (int i = 0; i < 3; i++)
    if (expand_shape(c, i)->rank == 3) x[i] = attention_heads(c, x[i], heads);
  AttentionPieces p = {x[0], attention_appended(c, expand_in(c, 6), x[1]), attention_appended(c, expand_in(c, 7), x[2]),
                       .scale = node_float(n, "scale", 0)};
  if (node_int(n, "unidirectional", 0))
    p.hidden = emit(g, "Greater", attention_columns(c, p.k),
                    attention_rows(c, p.q, has_in(n, 6) ? expand_dim(c, n->in[6], 2, true) : NULL));
  TRY(attention_padding(c, &p, 4, node_float(n, "mask_filter_value", -10000)));
  attention_mask(c, &p, expand_in(c, 5));
  Value *y = attention_pieces(c, &p);
  if (n->out_count > 1) c->out[1] = p.k;
  if (n->out_count > 2) c->out[2] = p.v;
  return expand_done(c, attention_tokens(c, y));
}

OPERATOR(multi_head_attention) = {
    .name = "MultiHeadAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 8},
    .outputs = {1, 4},
    .biases = 8,
    .expand = multi_head_attention_expand,
    .cases = CASES({"f32[2,4,12] f32[2,5,12] f32[2,5,18]", "num_heads=3"},
                   {"f32[2,4,12] f32[2,4,12] f32[2,4,12] f32[36]", "num_heads=2 scale=0.3 unidirectional=1"},
                   {"f32[2,4,12] f32[2,5,12] f32[2,5,12] - v:i32[2,5]=1,1,1,0,0,1,1,1,1,0 f32[1,3,4,5]",
                    "num_heads=3 mask_filter_value=-7.5"},
                   {"f32[2,2,12] f32[2,2,12] f32[2,2,12] - v:i32[2]=5,3 - f32[2,3,3,4] f32[2,3,3,4]", "num_heads=3", 0,
                    3},
                   {"f32[2,4,12] f32[2,3,6,4] f32[2,3,6,4]", "num_heads=3"}),
};
