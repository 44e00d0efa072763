/* DynamicQuantizeLSTM (com.microsoft): LSTM with quantized W (D, inputs, 4·hidden) and R (D, hidden, 4·hidden), whose
 * scales and zero points are (D) or (D, 4·hidden). X and h stay float32: ONNX Runtime rounds them to 8 bits. */
#include "ops/quantize/integer_product.h"

static Value *weight(Expansion *c, int i, int scale) {
  Graph *g = c->graph;
  Value **in = c->node->in, *apart = emit_ints(g, (int64_t[]){0, 1, -1}, 3);
  Value *y = integer_centered(c, in[i], emit(g, "Reshape", in[scale + 1], apart), DTYPE_FLOAT32, 0);
  y = emit(g, "Mul", y, emit(g, "Reshape", in[scale], apart));
  return emit_with(g, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){0, 2, 1}, 3)), y);
}

static Status dynamic_quantize_lstm_expand(Expansion *c) {
  Node *n = c->node;
  Value *in[8];
  for (int i = 8; i < 12; i++)
    if (!has_in(n, i)) return node_invalid(n, "input %d must be there", i);
  for (int i = 0; i < 8; i++) in[i] = n->in[i] ? n->in[i] : EMIT_ABSENT;
  for (int i = 1; i < 3; i++) in[i] = weight(c, i, 6 + 2 * i);
  Node *lstm = emit_node(c->graph, "LSTM", (AttrList){n->attrs, n->attr_count}, in, 8, n->out_count, NULL);
  for (int i = 0; lstm && i < n->out_count; i++) c->out[i] = lstm->out[i];
  return c->graph->error->status;
}

OPERATOR(dynamic_quantize_lstm) = {
    .name = "DynamicQuantizeLSTM",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 12},
    .outputs = {0, 3},
    .flags = OP_ANY_TYPE,
    .expand = dynamic_quantize_lstm_expand,
    .cases = CASES({"f32[4,3,5] i8[1,5,16]:-99..99 i8[1,4,16]:-99..99 - - - - - f32[1]=0.003 i8[1]=0 f32[1]=0.004 "
                    "i8[1]=0",
                    "hidden_size=4", 0, 3},
                   {"f32[3,2,3] u8[2,3,4]:0..255 u8[2,1,4]:0..255 f32[2,8] - f32[2,2,1] f32[2,2,1] - f32[2,4] "
                    "u8[2,4]:100..150 f32[2,4] u8[2,4]:100..150",
                    "direction=bidirectional hidden_size=1", 0, 3}),
};
