/* GroupQueryAttention (com.microsoft): causal attention in which heads of key and value serve several of query, with
 * rotary embedding if wanted. seqlens_k says where the last key of each example is. Without a past the keys behind it
 * are hidden; of a past that has more keys than it says the first are, so that a past may have room before them. */
#include "graph/dims.h"
#include "ops/attention/attention_pieces.h"
#include "ops/attention/rotary.h"

/* Q, K and V as heads, in one tensor or in three. */
static Status read_heads(Expansion *c, int64_t heads, int64_t kv_heads, Value *x[3]) {
  const Node *n = c->node;
  int64_t width = expand_shape(c, 0)->dim[2], all = heads + 2 * kv_heads;
  if (has_in(n, 1) != has_in(n, 2)) return node_invalid(n, "key and value come together");
  for (int i = 0; i < 3; i++) {
    if (has_in(n, 1)) TRY(node_want_rank(n, i, 3, 3));
    if (has_in(n, 1) && dim_is_number(width) &&
        !dims_meet(expand_shape(c, i)->dim[2], width / heads * (i ? kv_heads : heads)))
      return node_invalid(n, "input %d has not %lld numbers in each of its heads", i, (long long)(width / heads));
    x[i] = expand_in(c, i);
  }
  Size of_q = {n->in[0], 2, 1, heads, all}, of_k = {n->in[0], 2, 1, kv_heads, all};
  if (!has_in(n, 1) && !expand_split(c, n->in[0], 2, expand_sizes(c, NULL, (Size[]){of_q, of_k, of_k}, 3), 3, x))
    return c->graph->error->status;
  for (int i = 0; i < 3; i++) x[i] = attention_heads(c, x[i], i ? kv_heads : heads);
  return STATUS_OK;
}

/* The number of past keys before the valid ones, (B, 1, 1, 1): past + T - 1 - last. */
static Value *room_of(Expansion *c, Value *q, Value *last) {
  Graph *g = c->graph;
  Value *past = expand_dim(c, c->node->in[3], 2, true), *one = emit_ints(g, (int64_t[]){1}, 1);
  Value *most = emit(g, "Sub", emit(g, "Add", past, expand_dim(c, q, 2, true)), one);
  Value *room = emit(g, "Max", emit(g, "Sub", most, last), emit_ints(g, (int64_t[]){0}, 1));
  return emit(g, "Mul", room, emit(g, "Min", past, one));
}

/* Q and K rotated by their positions: those given, or counted on from the past's length, less its room. */
static Status rotate(Expansion *c, Value *rows, Value *room, Value *x[3]) {
  Graph *g = c->graph;
  const Node *n = c->node;
  if (!has_in(n, 7) || !has_in(n, 8)) return node_invalid(n, "do_rotary needs cos_cache and sin_cache");
  TRY(node_want_rank(n, 7, 2, 2));
  TRY(node_want_rank(n, 8, 2, 2));
  Value *places = has_in(n, 9) ? n->in[9] : emit(g, "Reshape", rows, emit_ints(g, (int64_t[]){1, -1}, 2));
  if (room && !has_in(n, 9))
    places = emit(g, "Sub", places, emit(g, "Reshape", room, emit_ints(g, (int64_t[]){-1, 1}, 2)));
  Value *cos = emit(g, "Gather", n->in[7], places), *sin = emit(g, "Gather", n->in[8], places);
  Rotary r = {dims_times(g, n->in[7]->shape.dim[1], 2), node_int(n, "rotary_interleaved", 0) != 0};
  for (int i = 0; i < 2; i++) x[i] = rotary_expand(c, x[i], 2, cos, sin, r);
  return g->error->status;
}

static Status group_query_attention_expand(Expansion *c) {
  static const char *const lacking[] = {"smooth_softmax", "qk_output", NULL};
  Graph *g = c->graph;
  const Node *n = c->node;
  int64_t heads = node_int(n, "num_heads", 0), kv_heads = node_int(n, "kv_num_heads", 0),
          window = node_int(n, "local_window_size", -1);
  Value *x[3];
  TRY(attention_refuse(c, lacking));
  for (int i = 11; i < n->in_count; i++)
    if (has_in(n, i)) return node_fail(n, STATUS_UNSUPPORTED_OP, "input %d is not supported", i);
  TRY(node_want_rank(n, 0, 3, 3));
  for (int i = 3; i < 5; i++) TRY(node_want_rank(n, i, 4, 4));
  TRY(node_want_rank(n, 9, 2, 2));
  if (!has_in(n, 5)) return node_invalid(n, "seqlens_k must be there");
  if (heads < 1 || kv_heads < 1) return node_invalid(n, "num_heads and kv_num_heads must be there");
  TRY(read_heads(c, heads, kv_heads, x));
  Value *rows = attention_rows(c, x[0], has_in(n, 3) ? expand_dim(c, n->in[3], 2, true) : NULL);
  Value *last = emit(g, "Reshape", expand_cast(c, n->in[5], DTYPE_INT64), emit_ints(g, (int64_t[]){-1, 1, 1, 1}, 4));
  Value *room = has_in(n, 3) ? room_of(c, x[0], last) : NULL;
  if (node_int(n, "do_rotary", 0)) TRY(rotate(c, rows, room, x));
  AttentionPieces p = {x[0], attention_appended(c, expand_in(c, 3), x[1]), attention_appended(c, expand_in(c, 4), x[2]),
                       .scale = node_float(n, "scale", 0), .softcap = node_float(n, "softcap", 0)};
  Value *columns = attention_columns(c, p.k);
  p.hidden = emit(g, "Greater", columns, rows);
  if (window > 0)
    p.hidden = emit(g, "Or", p.hidden,
                    emit(g, "Not", emit(g, "Greater", emit(g, "Add", columns, emit_ints(g, &window, 1)), rows)));
  if (room) p.hidden = emit(g, "Or", p.hidden, emit(g, "Less", columns, room));
  p.hidden = emit(g, "Or", p.hidden, emit(g, "Greater", columns, room ? emit(g, "Add", last, room) : last));
  attention_mask(c, &p, expand_in(c, 10));
  Value *y = attention_pieces(c, &p);
  if (n->out_count > 1) c->out[1] = p.k;
  if (n->out_count > 2) c->out[2] = p.v;
  return expand_done(c, attention_tokens(c, y));
}

OPERATOR(group_query_attention) = {
    .name = "GroupQueryAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 14},
    .outputs = {1, 4},
    .expand = group_query_attention_expand,
    .cases = CASES(
        {"f32[2,4,32] f32[2,4,16] f32[2,4,16] - - v:i32[2]=3,3 v:i32[]=4", "num_heads=4 kv_num_heads=2", 0, 3},
        {"f32[2,3,64] - - - - v:i32[2]=2,2 v:i32[]=3 f32[8,8] f32[8,8]",
         "num_heads=2 kv_num_heads=1 do_rotary=1 scale=0.4", 0, 3},
        {"f32[1,1,64] f32[1,1,32] f32[1,1,32] f32[1,2,5,16] f32[1,2,5,16] v:i32[1]=5 v:i32[]=6 f32[8,8] f32[8,8]",
         "num_heads=4 kv_num_heads=2 do_rotary=1 rotary_interleaved=1 local_window_size=3", 0, 3},
        {"f32[2,1,64] f32[2,1,32] f32[2,1,32] f32[2,2,5,16] f32[2,2,5,16] v:i32[2]=5,3 v:i32[]=6 f32[8,8] f32[8,8]",
         "num_heads=4 kv_num_heads=2 do_rotary=1", 0, 3},
        {"f32[1,6,32] f32[1,6,16] f32[1,6,16] - - v:i32[1]=5 v:i32[]=6",
         "num_heads=4 kv_num_heads=2 local_window_size=2 softcap=3.0", 0, 3}),
};
