/* MatMulNBitsGrad (com.trainlet): dA = dY · W of MatMulNBits; inputs dY, and B, scales and zero points as there, with
 * its attributes. */
#include "ops/quantize/block_quantized.h"
#include "graph/work.h"

static Status mat_mul_n_bits_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  TRY(block_quantized_infer(n));
  const BlockQuantized *p = n->params;
  Shape dx = n->in[0]->shape;
  Dim *last = &dx.dim[dx.rank - 1];
  if (dim_is_number(*last) && (size_t)*last != p->rows)
    return node_invalid(n, "dY has %lld columns, N is %zu", (long long)*last, p->rows);
  *last = (Dim)p->depth;
  TRY(node_output(n, 0, DTYPE_FLOAT32, &dx));
  if (!node_is_concrete(n)) return STATUS_OK;
  Gemm g = block_quantized_gemm(n, true);
  n->scratch_bytes = gemm_bytes(&g);
  return STATUS_OK;
}

static void mat_mul_n_bits_grad_run(const Node *n) { block_quantized_run(n, true, NULL); }

OPERATOR(mat_mul_n_bits_grad) = {
    .name = "MatMulNBitsGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 4},
    .flags = OP_ANY_TYPE | OP_OURS | OP_COSTLY,
    .infer = mat_mul_n_bits_grad_infer,
    .run = mat_mul_n_bits_grad_run,
    .work = work_product,
    .cases = CASES({"f32[3,140] u8[140,2,8]:0..256 f32[280]:0.1..0.3 u8[140]:0..256",
                    "K=32 N=140 block_size=16 bits=4"},
                   {"f32[3,5] u8[5,3,8]:0..256 f32[15]:0.1..0.3", "K=40 N=5 block_size=16 bits=4"},
                   {"f32[2,4] u8[4,2,16]:0..256 f32[4,2]:0.1..0.3 u8[4,2]:0..256", "K=32 N=4 block_size=16 bits=8"}),
};
