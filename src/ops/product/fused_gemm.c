/* FusedGemm (com.trainlet): y = activation(alpha · op(A) · op(B) + beta · C). Only the pass `activation` makes it, of
 * bound graphs. */
#include "ops/elementwise/activation.h"
#include "ops/product/gemm.h"
#include "graph/work.h"

static Status fused_gemm_infer(Node *n) {
  Activation activation;
  TRY(activation_read(n, node_float(n, "activation_alpha", 0), node_float(n, "activation_beta", 0), &activation));
  TRY(gemm_op_infer(n));
  GemmParams *p = n->params;
  if (p) p->gemm.clamp = true, p->gemm.low = activation.low, p->gemm.high = activation.high;
  return STATUS_OK;
}

OPERATOR(fused_gemm) = {
    .name = "FusedGemm",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 3},
    .flags = OP_ALONE | OP_OURS | OP_COSTLY,
    .in_place = 4,
    .infer = fused_gemm_infer,
    .run = gemm_op_run,
    .work = work_product,
    .cases = CASES({"f32[7,13] f32[11,13] f32[11]", "transB=1 activation=Relu"},
                   {"f32[6,9] f32[9,10] f32[6,10]", "activation=Clip activation_alpha=-0.5 activation_beta=0.75"},
                   {"f32[1,9] f32[9,21]", "activation=Relu alpha=0.5"}),
};
