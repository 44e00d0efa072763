/* FusedConv (com.microsoft): Conv, plus Z if it is there, and the activation after it. */
#include "ops/elementwise/activation.h"

static Status fused_conv_contrib_expand(Expansion *c) {
  const Node *n = c->node;
  const Attr *numbers = node_attr(n, "activation_params", ATTR_FLOATS);
  Value *y = emit_first(c->graph, "Conv", activation_less(c),
                        (Value *[]){n->in[0], n->in[1], has_in(n, 2) ? n->in[2] : EMIT_ABSENT}, has_in(n, 2) ? 3 : 2);
  if (has_in(n, 3)) y = emit(c->graph, "Add", y, n->in[3]);
  return expand_done(c, activation_expand(c, y, numbers ? numbers->floats : NULL, numbers ? numbers->count : 0));
}

OPERATOR(fused_conv_contrib) = {
    .name = "FusedConv",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 4},
    .weights = 2,
    .biases = 4,
    .expand = fused_conv_contrib_expand,
    .cases = CASES({"f32[2,3,5,5] f32[4,3,3,3] f32[4]",
                    "pads=[1,1,1,1] activation=HardSigmoid activation_params=[0.25,0.4]"},
                   {"f32[2,3,5,5] f32[4,3,3,3] - f32[2,4,3,3]", "activation=Relu"},
                   {"f32[2,3,5,5] f32[4,3,3,3] f32[4]", "activation=Clip activation_params=[-0.5,2.5] strides=[2,2]"}),
};
