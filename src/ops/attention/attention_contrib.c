/* Attention (com.microsoft): Q, K and V are parts of x · weights + bias; then the attention of each head. mask_index
 * hides keys, attention_bias is added to the scores, past and present are K and V in one, (2, N, H, S, D). */
#include "graph/dims.h"
#include "ops/attention/attention_pieces.h"

static Value *half_of(Expansion *c, Value *past, int64_t which) {
  Value *index = emit(c->graph, "Reshape", emit_ints(c->graph, &which, 1), emit_ints(c->graph, NULL, 0));
  return past ? emit_with(c->graph, "Gather", ATTRS(attr_of_int("axis", 0)), past, index) : NULL;
}

static Value *with_axis(Expansion *c, Value *x) {
  static const int64_t zero = 0;
  if (graph_opset(c->graph, "") >= 13) return emit(c->graph, "Unsqueeze", x, emit_ints(c->graph, &zero, 1));
  return emit_with(c->graph, "Unsqueeze", ATTRS(attr_of_ints("axes", &zero, 1)), x);
}

/* Sizes of Q, K and V, parts of x · weights. */
static Status read_sizes(const Node *n, int64_t heads, Size sizes[3]) {
  int count;
  const int64_t *given = node_ints(n, "qkv_hidden_sizes", &count), all = n->in[1]->shape.dim[1];
  int64_t sum = 0;
  for (int i = 0; i < 3; i++) {
    int64_t size = count == 3 ? given[i] : dim_is_number(all) ? all / 3 : heads;
    if (heads < 1 || size < 1 || size % heads)
      return node_invalid(n, "num_heads is %lld, of which %lld is no multiple", (long long)heads, (long long)size);
    sizes[i] = count == 3 ? SIZE_NUMBER(size) : (Size){n->in[1], 1, 1, 1, 3};
    sum += size;
  }
  if (!dims_meet(sum, all))
    return node_invalid(n, "the weights have %lld columns, Q, K and V need other %lld", (long long)all, (long long)sum);
  return STATUS_OK;
}

static Status attention_contrib_expand(Expansion *c) {
  static const char *const lacking[] = {"do_rotary", "past_present_share_buffer", NULL};
  Graph *g = c->graph;
  const Node *n = c->node;
  int64_t heads = node_int(n, "num_heads", 0);
  Size sizes[3];
  Value *x[3], *past = expand_in(c, 4);
  TRY(attention_refuse(c, lacking));
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(node_want_rank(n, 1, 2, 2));
  TRY(node_want_rank(n, 4, 5, 5));
  TRY(read_sizes(n, heads, sizes));
  Value *all = emit(g, "MatMul", n->in[0], n->in[1]);
  if (has_in(n, 2)) all = emit(g, "Add", all, n->in[2]);
  if (!all || !expand_split(c, all, 2, expand_sizes(c, NULL, sizes, 3), 3, x)) return g->error->status;
  for (int i = 0; i < 3; i++) x[i] = attention_heads(c, x[i], heads);
  AttentionPieces p = {x[0], attention_appended(c, half_of(c, past, 0), x[1]),
                       attention_appended(c, half_of(c, past, 1), x[2]), .scale = node_float(n, "scale", 0)};
  if (node_int(n, "unidirectional", 0))
    p.hidden = emit(g, "Greater", attention_columns(c, p.k),
                    attention_rows(c, p.q, past ? expand_dim(c, past, 3, true) : NULL));
  TRY(attention_padding(c, &p, 3, node_float(n, "mask_filter_value", -10000)));
  attention_mask(c, &p, expand_in(c, 5));
  Value *y = attention_pieces(c, &p);
  if (n->out_count > 1)
    c->out[1] = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), with_axis(c, p.k), with_axis(c, p.v));
  return expand_done(c, attention_tokens(c, y));
}

OPERATOR(attention_contrib) = {
    .name = "Attention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 7},
    .outputs = {1, 2},
    .weights = 2,
    .biases = 4,
    .expand = attention_contrib_expand,
    .cases = CASES({"f32[2,4,5] f32[5,18] f32[18]", "num_heads=3"},
                   {"f32[2,4,5] f32[5,18] f32[18] v:i32[2,4]=1,1,1,1,1,1,0,0",
                    "num_heads=2 unidirectional=1 scale=0.4"},
                   {"f32[2,2,5] f32[5,18] f32[18] v:i32[2]=4,5 f32[2,2,3,3,2]", "num_heads=3", 0, 2},
                   {"f32[2,3,5] f32[5,20] f32[20] v:i32[2,3,3]=1,1,0,1,0,1,1,1,1,1,1,1,0,1,1,1,1,1 - f32[1,2,3,3]",
                    "num_heads=2 qkv_hidden_sizes=[6,6,8] mask_filter_value=-5.0"},
                   {"f32[2,4,5] f32[5,6]", "num_heads=1"}),
};
