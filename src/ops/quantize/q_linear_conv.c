/* QLinearConv: the convolution of quantized x and w, quantized. */
#include "graph/expansion.h"

static Status q_linear_conv_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value **in = n->in, *scale = in[4];
  AttrList attrs = {n->attrs, n->attr_count};
  Shape channel = {.rank = in[3]->shape.rank - 1};
  TRY(node_want_rank(n, 3, 3, RANK_MAX));
  for (int i = 0; i < channel.rank; i++) channel.dim[i] = i ? 1 : -1;
  Value *whole = emit_with(g, "ConvInteger", attrs, in[0], in[3], in[2], in[5]);
  Value *apart = emit_ints(g, channel.dim, channel.rank);
  if (has_in(n, 8)) whole = emit(g, "Add", whole, emit(g, "Reshape", in[8], apart));
  if (scale->shape.rank) scale = emit(g, "Reshape", scale, apart);
  Value *y = emit(g, "Mul", expand_cast(c, whole, DTYPE_FLOAT32), emit(g, "Mul", in[1], scale));
  return expand_done(c, emit(g, "QuantizeLinear", y, in[6], in[7]));
}

OPERATOR(q_linear_conv) = {
    .name = "QLinearConv",
    .since = {10},
    .inputs = {8, 9},
    .flags = OP_ANY_TYPE,
    .expand = q_linear_conv_expand,
    .cases = CASES(
        {"u8[1,1,4,4]:0..255 f32[]=0.00369 u8[]=132 u8[1,1,1,1]=0 f32[1]=0.00172 u8[1]=255 f32[]=0.00162 u8[]=123",
         .no_grad = "ints"}),
};
