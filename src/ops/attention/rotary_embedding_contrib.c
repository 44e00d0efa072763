/* RotaryEmbedding (com.microsoft): like ai.onnx's of opset 23, with its inputs in another order; there is a position id
 * for each token, or only for the first. */
#include "ops/attention/attention_pieces.h"
#include "ops/attention/rotary.h"

static Status rotary_embedding_contrib_expand(Expansion *c) {
  static const char *const lacking[] = {"is_packed_batching", NULL};
  Graph *g = c->graph;
  const Node *n = c->node;
  Value *x = n->in[0], *places = n->in[1];
  bool flat = x->shape.rank == 3;
  TRY(attention_refuse(c, lacking));
  TRY(node_want_rank(n, 0, 3, 4));
  for (int i = 1; i < 4; i++) TRY(node_want_rank(n, i, i == 1 ? 1 : 2, 2));
  int64_t heads = node_int(n, "num_heads", 0), width = node_int(n, "rotary_embedding_dim", 0);
  Dim half = n->in[2]->shape.dim[1], all = x->shape.dim[2];
  Size zero = SIZE_NUMBER(0), rest = SIZE_NUMBER(-1), of_head = {n->in[2], 1, 1, 2, 0};
  if (flat && !(heads ? dim_divides(all, heads) : !dim_is_number(half) || dim_divides(all, 2 * half)))
    return node_invalid(n, "the heads of its input are not given");
  if (flat)
    x = expand_reshape(c, x, (Size[]){zero, zero, heads ? SIZE_NUMBER(heads) : rest, heads ? rest : of_head}, 4);
  if (places->shape.rank == 1 && x) {
    Value *tokens = expand_range(c, expand_dim(c, x, flat ? 1 : 2, false));
    places = emit(g, "Reshape", emit(g, "Add", tokens, emit(g, "Reshape", places, emit_ints(g, (int64_t[]){1}, 1))),
                  emit_ints(g, (int64_t[]){1, -1}, 2));
  }
  Value *cos = emit(g, "Gather", n->in[2], places), *sin = emit(g, "Gather", n->in[3], places);
  Value *y = rotary_expand(c, x, flat ? 1 : 2, cos, sin, (Rotary){width, node_int(n, "interleaved", 0) != 0});
  return expand_done(c, flat ? emit(g, "Reshape", y, emit_ints(g, (int64_t[]){0, 0, -1}, 3)) : y);
}

OPERATOR(rotary_embedding_contrib) = {
    .name = "RotaryEmbedding",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {4, 4},
    .expand = rotary_embedding_contrib_expand,
    .cases = CASES({"f32[2,3,12] v:i64[2,3]=0,1,2,4,0,1 f32[5,2] f32[5,2]"},
                   {"f32[2,3,4,6] v:i64[1]=1 f32[5,3] f32[5,3]", "interleaved=1"},
                   {"f32[1,3,12] v:i64[1]=0 f32[5,2] f32[5,2]", "num_heads=2 rotary_embedding_dim=4"}),
};
