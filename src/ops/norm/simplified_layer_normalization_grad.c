/* SimplifiedLayerNormalizationGrad (com.microsoft; dY, X, scale, inv_std_var): dX and dscale of
 * SimplifiedLayerNormalization. */
#include "ops/norm/layer_norm.h"

static Status simplified_layer_normalization_grad_infer(Node *n) {
  Shape statistics;
  TRY(layer_norm_infer(n, 1, 2, -1, &statistics));
  TRY(layer_norm_want_statistics(n, &statistics, 3, 3));
  TRY(layer_norm_want_statistics(n, &n->in[1]->shape, 0, 0));
  if (node_is_concrete(n) && !layer_norm_gradient_bytes(n, 2, &n->scratch_bytes)) return STATUS_OUT_OF_MEMORY;
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape));
  return node_output(n, 1, DTYPE_FLOAT32, &n->in[2]->shape);
}

static void simplified_layer_normalization_grad_run(const Node *n) {
  layer_norm_gradient_run(n, NULL, in_f32(n, 3), has_out(n, 0) ? out_f32(n, 0) : NULL,
                          has_out(n, 1) ? out_f32(n, 1) : NULL, NULL);
}

OPERATOR(simplified_layer_normalization_grad) = {
    .name = "SimplifiedLayerNormalizationGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {4, 4},
    .outputs = {1, 2},
    .in_place = 1 | 2,
    .infer = simplified_layer_normalization_grad_infer,
    .run = simplified_layer_normalization_grad_run,
    .cases = CASES({"f32[2,3,5] f32[2,3,5] f32[5] f32[2,3,1]:0.5..2", NULL, 0, 2},
                   {"f32[2,3,5] f32[2,3,5] f32[5] f32[2,3,1]:0.5..2"}),
};
