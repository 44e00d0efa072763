/* Attention (ai.onnx): Y = softmax(scale · Q Kᵀ + mask) V for heads of (N, H, T, D), or for (N, T, H · D) whose heads
 * are counted by q_num_heads and kv_num_heads; fewer heads of K and V serve several of Q. */
#include <math.h>

#include "ops/attention/attention_pieces.h"

/* The number of keys before the first query: all of the past, or the keys that are not padding minus the queries. */
static Value *keys_before(Expansion *c, Value *q, Value *past, Value *lengths) {
  if (past) return expand_dim(c, past, 2, true);
  return lengths ? emit(c->graph, "Sub", lengths, expand_dim(c, q, 2, true)) : NULL;
}

/* Hides the keys that lie further from a query than the attribute says, to its left or to its right. */
static void hide_far(Expansion *c, AttentionPieces *p, Value *rows, const char *side, bool left) {
  Graph *g = c->graph;
  int64_t size = c->node->version < 25 ? -1 : node_int(c->node, side, -1);
  if (size < 0) return;
  Value *columns = attention_columns(c, p->k),
        *distance = left ? emit(g, "Sub", rows, columns) : emit(g, "Sub", columns, rows);
  p->hidden = attention_either(c, p->hidden, emit(g, "Greater", distance, emit_ints(g, &size, 1)));
}

/* The number of columns that the mask lacks: 0 if it has a single one, which is repeated. */
static Value *lacking(Expansion *c, Value *mask, Value *k) {
  Graph *g = c->graph;
  Value *columns = expand_dim(c, mask, mask->shape.rank - 1, true),
        *lacks = emit(g, "Sub", expand_dim(c, k, 2, true), columns), *none = emit_ints(g, (int64_t[]){0}, 1);
  return emit(g, "Where", emit(g, "Equal", columns, emit_ints(g, (int64_t[]){1}, 1)), none,
              emit(g, "Max", lacks, none));
}

/* A mask may have fewer columns than there are keys: it does not let the others be seen. */
static Value *padded(Expansion *c, Value *mask, Value *k) {
  if (!mask || !k || !mask->shape.rank) return mask;
  Graph *g = c->graph;
  int rank = mask->shape.rank;
  int64_t pads[2 * RANK_MAX] = {0};
  Dim columns = mask->shape.dim[rank - 1], keys = k->shape.dim[2];
  bool known = dim_is_number(columns) && dim_is_number(keys), bools = mask->type == DTYPE_BOOL;
  if (columns == keys || columns == 1 || (known && columns > keys)) return mask;
  if (!known && g->deferral.tries)
    node_defer(c->node, dim_is_number(keys) ? 3 : 1, "whether its mask has a column for each key must be known");
  if (known) pads[2 * rank - 1] = keys - columns;
  Value *widths = known ? emit_ints(g, pads, 2 * rank)
                        : emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), emit_ints(g, pads, 2 * rank - 1),
                                    lacking(c, mask, k)),
        *seen = bools ? expand_cast(c, mask, DTYPE_FLOAT32) : mask,
        *wide = emit(g, "Pad", seen, widths, emit_float(g, bools ? 0 : -INFINITY));
  return bools ? expand_cast(c, wide, DTYPE_BOOL) : wide;
}

static Status check(Expansion *c, bool flat, int64_t heads, int64_t kv_heads) {
  const Node *n = c->node;
  int64_t precision = node_int(n, "softmax_precision", DTYPE_FLOAT32), mode = node_int(n, "qk_matmul_output_mode", 0);
  for (int i = 0; i < 3; i++) {
    TRY(node_want_rank(n, i, flat ? 3 : 4, flat ? 3 : 4));
    Dim width = expand_shape(c, i)->dim[2];
    int64_t count = i ? kv_heads : heads;
    if (flat && count < 1)
      return node_invalid(n, "its inputs have 3 dimensions: it needs q_num_heads and kv_num_heads");
    if (flat && !dim_divides(width, count))
      return node_invalid(n, "input %d has %lld floats a token for %lld heads", i, (long long)width, (long long)count);
  }
  for (int i = 4; i < 6; i++) TRY(node_want_rank(n, i, 4, 4));
  if (has_in(n, 4) != has_in(n, 5)) return node_invalid(n, "past_key and past_value come together");
  for (int i = 0; i < 2; i++) {
    const char *name = i ? "right_window_size" : "left_window_size";
    int64_t size = node_int(n, name, -1);
    if (size < -1) return node_invalid(n, "%s is %lld, it wants -1 or a number of keys", name, (long long)size);
  }
  if (precision != DTYPE_FLOAT32 && precision != DTYPE_FLOAT16 && precision != DTYPE_BFLOAT16 &&
      precision != DTYPE_FLOAT64)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "softmax_precision is %lld, we compute in float32",
                     (long long)precision);
  return mode < 0 || mode > 3 ? node_invalid(n, "qk_matmul_output_mode is %lld", (long long)mode) : STATUS_OK;
}

static Status attention_onnx_expand(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  bool flat = expand_shape(c, 0)->rank == 3;
  int64_t heads = node_int(n, "q_num_heads", 0), kv_heads = node_int(n, "kv_num_heads", 0);
  TRY(check(c, flat, heads, kv_heads));
  AttentionPieces p = {n->in[0], n->in[1], n->in[2], .scale = node_float(n, "scale", 0),
                       .softcap = node_float(n, "softcap", 0)};
  if (flat)
    p.q = attention_heads(c, p.q, heads), p.k = attention_heads(c, p.k, kv_heads),
    p.v = attention_heads(c, p.v, kv_heads);
  p.k = attention_appended(c, expand_in(c, 4), p.k);
  p.v = attention_appended(c, expand_in(c, 5), p.v);
  Value *lengths = has_in(n, 6) ? emit(g, "Reshape", n->in[6], emit_ints(g, (int64_t[]){-1, 1, 1, 1}, 4)) : NULL;
  if (lengths) p.hidden = emit(g, "Not", emit(g, "Less", attention_columns(c, p.k), lengths));
  Value *rows = attention_rows(c, p.q, keys_before(c, p.q, expand_in(c, 4), lengths));
  if (node_int(n, "is_causal", 0))
    p.hidden = attention_either(c, p.hidden, emit(g, "Greater", attention_columns(c, p.k), rows));
  hide_far(c, &p, rows, "left_window_size", true);
  hide_far(c, &p, rows, "right_window_size", false);
  attention_mask(c, &p, padded(c, expand_in(c, 3), p.k));
  p.blind = lengths || has_in(n, 3) || node_int(n, "left_window_size", -1) >= 0;
  Value *y = attention_pieces(c, &p), *more[] = {p.k, p.v, p.stages[node_int(n, "qk_matmul_output_mode", 0)]};
  for (int i = 1; i < n->out_count; i++) c->out[i] = more[i - 1];
  return expand_done(c, flat ? attention_tokens(c, y) : y);
}

OPERATOR(attention_onnx) = {
    .name = "Attention",
    .since = {23, 24, 25},
    .inputs = {3, 7},
    .outputs = {1, 4},
    .expand = attention_onnx_expand,
    .cases = CASES({"f32[2,3,4,8] f32[2,3,6,8] f32[2,3,6,10]", NULL, 23},
                   {"f32[2,4,24] f32[2,6,24] f32[2,6,30]", "q_num_heads=3 kv_num_heads=3 scale=0.25", 23},
                   {"f32[2,4,4,8] f32[2,2,4,8] f32[2,2,4,6]", "is_causal=1", 23},
                   {"f32[2,3,24] f32[2,5,8] f32[2,5,16] bool[3,5]=1,1,0,0,1,0,1,1,0,0,1,1,1,1,1",
                    "q_num_heads=6 kv_num_heads=2 softcap=2.0", 23},
                   {"f32[2,2,3,4] f32[2,2,3,4] f32[2,2,3,4] f32[2,1,1,3]", "is_causal=1", 23},
                   {"f32[2,3,2,4] f32[2,3,2,4] f32[2,3,2,6] - f32[2,3,4,4] f32[2,3,4,6]", "is_causal=1", 23, 4},
                   {"f32[1,2,3,4] f32[1,2,4,4] f32[1,2,4,4] f32[1,2,3,4]", "softcap=1.5 qk_matmul_output_mode=1", 23, 4,
                    .no_grad = "also of its second output"},
                   {"f32[1,2,3,4] f32[1,2,4,4] f32[1,2,4,4] f32[3,4]", "softcap=1.5 qk_matmul_output_mode=2", 23, 4,
                    .no_grad = "also of its second output"},
                   {"f32[1,2,3,4] f32[1,2,4,4] f32[1,2,4,4]", "qk_matmul_output_mode=3 softmax_precision=1", 23, 4,
                    .no_grad = "also of its second output"},
                   {"f32[2,3,2,4] f32[2,3,6,4] f32[2,3,6,5] - - - i64[2]=5,3", "is_causal=1", 24},
                   {"f32[1,2,4,4] f32[1,2,6,4] f32[1,2,6,5]", "left_window_size=2 right_window_size=1", 25},
                   {"f32[1,2,3,4] f32[1,2,4,4] f32[1,2,4,4] bool[3,4]=1,0,1,1,0,0,0,0,0,1,1,0", NULL, 25},
                   {"f32[1,2,3,4] f32[1,2,5,4] f32[1,2,5,4] f32[2,3,3]", NULL, 25},
                   {"f32[1,2,3,4] f32[1,2,5,4] f32[1,2,5,4] bool[3,2]", NULL, 25},
                   {"f32[1,2,3,4] f32[1,2,5,4] f32[1,2,5,4] bool[3,1]", NULL, 25},
                   {"f32[1,2,3,4] f32[1,2,4,4] f32[1,2,4,4] f32[3,3]=0.5,0,0,-inf,-inf,-inf,-inf,0,1", "is_causal=1",
                    25}),
};
