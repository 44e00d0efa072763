/* QLinearMatMul: the product of two quantized matrices, quantized. */
#include "graph/expansion.h"

static Status q_linear_mat_mul_expand(Expansion *c) {
  Graph *g = c->graph;
  Value **in = c->node->in;
  Value *whole = emit(g, "MatMulInteger", in[0], in[3], in[2], in[5]);
  Value *scales[3];
  for (int i = 0; i < 3; i++) scales[i] = expand_cast(c, in[(int[]){1, 4, 6}[i]], DTYPE_FLOAT32);
  Value *y = emit(g, "Mul", expand_cast(c, whole, DTYPE_FLOAT32), emit(g, "Mul", scales[0], scales[1]));
  return expand_done(c, emit(g, "QuantizeLinear", y, scales[2], in[7]));
}

OPERATOR(q_linear_mat_mul) = {
    .name = "QLinearMatMul",
    .since = {10, 21},
    .inputs = {8, 8},
    .flags = OP_ANY_TYPE,
    .expand = q_linear_mat_mul_expand,
    .cases =
        CASES({"u8[2,4]:0..255 f32[1]=0.0066 u8[1]=113 u8[4,3]:0..255 f32[1]=0.00705 u8[1]=114 f32[1]=0.0107 u8[1]=118",
               .no_grad = "ints"}),
};
