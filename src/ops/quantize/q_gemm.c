/* QGemm (com.microsoft): alpha · op(A) · op(B) + C of quantized A and B, quantized or in float32. C is int32, with the
 * scale alpha · a_scale · b_scale. */
#include "graph/expansion.h"

static Value *turned(Expansion *c, const char *transposes, int i) {
  Value *x = c->node->in[i];
  return node_int(c->node, transposes, 0) ? emit(c->graph, "Transpose", x) : x;
}

static Status q_gemm_expand(Expansion *c) {
  Graph *g = c->graph;
  const Node *n = c->node;
  Value **in = n->in;
  for (int i = 0; i < 4; i += 3) TRY(node_want_rank(n, i, 2, 2));
  Value *whole = emit(g, "MatMulInteger", turned(c, "transA", 0), turned(c, "transB", 3), in[2], in[5]);
  if (has_in(n, 6)) whole = emit(g, "Add", whole, in[6]);
  Value *scale = emit(g, "Mul", emit(g, "Mul", emit_float(g, node_float(n, "alpha", 1)), in[1]), in[4]);
  Value *y = emit(g, "Mul", expand_cast(c, whole, DTYPE_FLOAT32), scale);
  return expand_done(c, has_in(n, 8) ? emit(g, "QuantizeLinear", y, in[7], in[8]) : y);
}

OPERATOR(q_gemm) = {
    .name = "QGemm",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {6, 9},
    .flags = OP_ANY_TYPE,
    .expand = q_gemm_expand,
    .cases =
        CASES({"u8[2,4]:0..255 f32[]=0.0066 u8[]=113 u8[4,3]:0..255 f32[]=0.00705 u8[]=114 - f32[]=0.0107 u8[]=118",
               .no_grad = "ints"},
              {"u8[4,2]:0..255 f32[]=0.0066 u8[]=113 i8[3,4]:-128..127 f32[3]=0.007,0.01,0.02 i8[3]=0,1,-9 "
               "i32[3]=2000,-300,7",
               "alpha=0.5 transA=1 transB=1", .no_grad = "ints"}),
};
