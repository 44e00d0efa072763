/* LayerNormalization: rows of x, all dims from the axis on, to mean 0 and variance 1, times scale, plus B.
 * ops/norm/layer_norm.h has the formulas. Outputs: Y, and of each row the mean and 1 / √(variance + ε). Models of ONNX
 * Runtime have it in ai.onnx since opset 1. */
#include "ops/norm/layer_norm.h"
#include "graph/second_output.h"

static Status layer_normalization_infer(Node *n) {
  Shape statistics;
  if (node_int(n, "stash_type", 1) != 1)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "stash_type is %lld, statistics are float32 (1)",
                     (long long)node_int(n, "stash_type", 1));
  TRY(layer_norm_infer(n, 0, 1, 2, &statistics));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape));
  TRY(node_output(n, 1, DTYPE_FLOAT32, &statistics));
  return node_output(n, 2, DTYPE_FLOAT32, &statistics);
}

static void layer_normalization_run(const Node *n) {
  layer_norm_run(n, false, out_f32_if(n, 0), out_f32_if(n, 1), out_f32_if(n, 2));
}

static Status layer_normalization_grad(Grad *g) {
  Node *n = g->node;
  for (int i = 1; i < n->out_count; i++)
    if (g->dy[i]) return node_fail(n, STATUS_UNSUPPORTED_OP, "no gradient flows through output %d, a statistic", i);
  TRY(output_want(n, 1, "mean"));
  TRY(output_want(n, 2, "inv_std_dev"));
  Value *in[] = {g->dy[0], n->in[0], n->in[1], n->out[1], n->out[2]};
  AttrList axis = ATTRS(attr_of_int("axis", ((const LayerNorm *)n->params)->axis));
  Node *grad = emit_node(g->graph, "LayerNormalizationGrad", axis, in, 5, 3,
                         NULL); /* ONNX Runtime's wants all three outputs */
  for (int i = 0; grad && i < n->in_count; i++)
    if (g->want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

OPERATOR(layer_normalization) = {
    .name = "LayerNormalization",
    .since = {1, 17},
    .inputs = {2, 3},
    .outputs = {1, 3},
    .scales = 2,
    .biases = 4,
    .in_place = 1,
    .infer = layer_normalization_infer,
    .run = layer_normalization_run,
    .grad = GRADIENT(layer_normalization_grad),
    .cases = CASES({"f32[3,6] f32[6] f32[6]"}, {"f32[2,3,5] f32[5] f32[5]", "epsilon=0.25", 17, 3},
                   {"f32[2,3,5] f32[3,5]", "axis=1"}, {"f32[3,7] f32[3,7] f32[3,7]", "axis=0 stash_type=1"},
                   {"f32[130,5] f32[5] f32[5]", "axis=-1", 17}, {"f32[2,3,5] f32[5] f32[5]", "axis=-1", 12, 3},
                   {"f32[2,900]:-1..9 f32[900] f32[900]", "epsilon=1e-12", 1, 1}, {"f32[3,1] f32[1] f32[1]"}),
};
