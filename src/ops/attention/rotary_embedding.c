/* RotaryEmbedding (ai.onnx): rotates pairs of a head's numbers by the angles of their token, whose cosines and sines
 * are given, or looked up by position_ids. X is (N, H, T, D), or (N, T, H · D) with num_heads. */
#include "ops/attention/attention_pieces.h"
#include "ops/attention/rotary.h"

static Status rotary_embedding_expand(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  Value *x = n->in[0], *cos = n->in[1], *sin = n->in[2];
  int64_t heads = node_int(n, "num_heads", 0), shape[] = {0, 0, heads, -1};
  bool flat = x->shape.rank == 3, looked_up = has_in(n, 3);
  TRY(node_want_rank(n, 0, 3, 4));
  TRY(node_want_rank(n, 3, 2, 2));
  TRY(node_want_rank(n, 1, looked_up ? 2 : 3, looked_up ? 2 : 3));
  TRY(node_want_rank(n, 2, looked_up ? 2 : 3, looked_up ? 2 : 3));
  if (flat && (heads < 1 || !dim_divides(x->shape.dim[2], heads)))
    return node_invalid(n, "its input has 3 dimensions: it needs num_heads, of which the last is a multiple");
  if (looked_up) cos = emit(g, "Gather", cos, n->in[3]), sin = emit(g, "Gather", sin, n->in[3]);
  if (flat) x = emit(g, "Reshape", x, emit_ints(g, shape, 4));
  Value *y = rotary_expand(c, x, flat ? 1 : 2, cos, sin,
                           (Rotary){node_int(n, "rotary_embedding_dim", 0), node_int(n, "interleaved", 0) != 0});
  return expand_done(c, flat ? emit(g, "Reshape", y, emit_ints(g, (int64_t[]){0, 0, -1}, 3)) : y);
}

OPERATOR(rotary_embedding) = {
    .name = "RotaryEmbedding",
    .since = {23},
    .inputs = {3, 4},
    .expand = rotary_embedding_expand,
    .cases = CASES({"f32[2,3,4,8] f32[2,4,4] f32[2,4,4]", NULL, 23},
                   {"f32[2,4,24] f32[9,4] f32[9,4] v:i64[2,4]=0,1,2,3,8,7,3,3", "num_heads=3", 23},
                   {"f32[2,4,24] f32[2,4,4] f32[2,4,4]", "num_heads=3 interleaved=1", 23},
                   {"f32[2,3,4,10] f32[5,3] f32[5,3] v:i64[2,4]=0,1,2,3,0,2,4,4",
                    "interleaved=1 rotary_embedding_dim=6", 23},
                   {"f32[1,3,4,10] f32[1,4,2] f32[1,4,2]", "rotary_embedding_dim=4", 23}),
};
