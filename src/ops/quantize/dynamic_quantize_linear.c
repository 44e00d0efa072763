/* DynamicQuantizeLinear: x as uint8, with the scale and zero point that fit its range. */
#include "graph/expansion.h"

static Status dynamic_quantize_linear_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *zero = expand_number(c, x, 0), *top = expand_number(c, x, 255);
  AttrList whole = ATTRS(attr_of_int("keepdims", 0));
  Value *low = emit(g, "Min", emit_with(g, "ReduceMin", whole, x), zero),
        *high = emit(g, "Max", emit_with(g, "ReduceMax", whole, x), zero);
  Value *scale = emit(g, "Div", emit(g, "Sub", high, low), top);
  Value *point = expand_cast(c, emit(g, "Round", emit(g, "Div", emit(g, "Sub", zero, low), scale)), DTYPE_UINT8);
  c->out[1] = scale;
  c->out[2] = point;
  return expand_done(c, emit(g, "QuantizeLinear", x, scale, point));
}

OPERATOR(dynamic_quantize_linear) = {
    .name = "DynamicQuantizeLinear",
    .since = {11},
    .inputs = {1, 1},
    .outputs = {3, 3},
    .expand = dynamic_quantize_linear_expand,
    .cases = CASES({"f32[2,3]", NULL, 0, 3, .no_grad = "uint8"}),
};
