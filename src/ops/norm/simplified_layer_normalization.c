/* SimplifiedLayerNormalization: rows of x, all dims from the axis on, to a mean square of 1, times scale (RMS norm).
 * ONNX Runtime puts it into ai.onnx. Outputs: Y, and of each row 1 / √(mean square + ε). */
#include "ops/norm/layer_norm.h"
#include "graph/second_output.h"

static Status simplified_layer_normalization_infer(Node *n) {
  Shape statistics;
  TRY(layer_norm_infer(n, 0, 1, -1, &statistics));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape));
  return node_output(n, 1, DTYPE_FLOAT32, &statistics);
}

static void simplified_layer_normalization_run(const Node *n) {
  layer_norm_run(n, true, has_out(n, 0) ? out_f32(n, 0) : NULL, NULL, has_out(n, 1) ? out_f32(n, 1) : NULL);
}

static Status simplified_layer_normalization_grad(Grad *g) {
  Node *n = g->node;
  if (g->dy[1] && n->out_count > 1)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "no gradient flows through output 1, a statistic");
  TRY(second_output_want(n, "inv_std_var"));
  Value *in[] = {g->dy[0], n->in[0], n->in[1], n->out[1]};
  AttrList axis = ATTRS(attr_of_int("axis", ((const LayerNorm *)n->params)->axis));
  Node *grad = emit_node(g->graph, "SimplifiedLayerNormalizationGrad", axis, in, 4, 2,
                         NULL); /* ONNX Runtime's wants both outputs */
  for (int i = 0; grad && i < 2; i++)
    if (g->want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

OPERATOR(simplified_layer_normalization) = {
    .name = "SimplifiedLayerNormalization",
    .since = {1},
    .inputs = {2, 2},
    .outputs = {1, 2},
    .scales = 2,
    .in_place = 1,
    .infer = simplified_layer_normalization_infer,
    .run = simplified_layer_normalization_run,
    .grad = GRADIENT(simplified_layer_normalization_grad),
    .cases = CASES({"f32[3,6] f32[6]", "epsilon=0.25", 0, 2}, {"f32[2,3,5] f32[3,5]", "axis=1"},
                   {"f32[70,5] f32[5]", "axis=-1"}),
};
