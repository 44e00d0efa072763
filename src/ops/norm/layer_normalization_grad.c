/* LayerNormalizationGrad (com.microsoft; dY, X, scale, mean, inv_std_dev): dX, dscale and dB of LayerNormalization. */
#include "ops/norm/layer_norm.h"

static Status layer_normalization_grad_infer(Node *n) {
  Shape statistics;
  TRY(layer_norm_infer(n, 1, 2, -1, &statistics));
  TRY(layer_norm_want_statistics(n, &statistics, 3, 4));
  TRY(layer_norm_want_statistics(n, &n->in[1]->shape, 0, 0));
  if (node_is_concrete(n) && !layer_norm_gradient_bytes(n, 2, &n->scratch_bytes)) return STATUS_OUT_OF_MEMORY;
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape));
  TRY(node_output(n, 1, DTYPE_FLOAT32, &n->in[2]->shape));
  return node_output(n, 2, DTYPE_FLOAT32, &n->in[2]->shape);
}

static void layer_normalization_grad_run(const Node *n) {
  layer_norm_gradient_run(n, in_f32(n, 3), in_f32(n, 4), out_f32_if(n, 0), out_f32_if(n, 1), out_f32_if(n, 2));
}

OPERATOR(layer_normalization_grad) = {
    .name = "LayerNormalizationGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {5, 5},
    .outputs = {1, 3},
    .in_place = 1 | 2,
    .infer = layer_normalization_grad_infer,
    .run = layer_normalization_grad_run,
    .cases = CASES({"f32[2,3,5] f32[2,3,5] f32[5] f32[2,3,1] f32[2,3,1]:0.5..2", NULL, 0, 3},
                   {"f32[3,4] f32[3,4] f32[3,4] f32[1,1] f32[1,1]:0.5..2", "axis=0", 0, 3}),
};
