/* FusedGemm (com.microsoft): Gemm and the activation after it. */
#include "ops/elementwise/activation.h"

static Status fused_gemm_contrib_expand(Expansion *c) {
  const Node *n = c->node;
  const Attr *alpha = node_attr(n, "activation_alpha", ATTR_FLOAT);
  float numbers[] = {alpha ? alpha->f : 0, node_float(n, "activation_beta", 0)};
  Value *y = emit_first(c->graph, "Gemm", activation_less(c), n->in, n->in_count);
  return expand_done(c, activation_expand(c, y, numbers, alpha ? 2 : 0));
}

OPERATOR(fused_gemm_contrib) = {
    .name = "FusedGemm",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 3},
    .weights = 3,
    .biases = 4,
    .expand = fused_gemm_contrib_expand,
    .cases = CASES({"f32[3,4] f32[4,5] f32[5]", "activation=LeakyRelu activation_alpha=0.25 alpha=0.5"},
                   {"f32[4,3] f32[5,4]", "activation=Tanh transA=1 transB=1"}),
};
