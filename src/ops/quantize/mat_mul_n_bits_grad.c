/* MatMulNBitsGrad (com.trainlet): dA = dY · W of MatMulNBits; inputs dY, and B, scales and zero points as there, with
 * its attributes. */
#include "ops/quantize/block_quantized.h"
#include "kernels/gemm.h"
#include "graph/work.h"

static size_t lines_of(const Node *n) { return shape_span(&n->in[0]->shape, 0, n->in[0]->shape.rank - 1); }

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
  return block_quantized_scratch(n, gemm_scratch_bytes(lines_of(n), p->depth, BLOCK_QUANTIZED_ROWS));
}

static void mat_mul_n_bits_grad_run(const Node *n) {
  const BlockQuantized *p = n->params;
  float *w = n->scratch;
  for (size_t at = 0; at < p->rows; at += BLOCK_QUANTIZED_ROWS) {
    size_t count = p->rows - at < BLOCK_QUANTIZED_ROWS ? p->rows - at : BLOCK_QUANTIZED_ROWS;
    block_quantized_rows(n, at, count, w);
    Gemm g = {.rows = lines_of(n),
              .columns = p->depth,
              .depth = count,
              .a = gemm_a(in_f32(n, 0) + at, p->rows, false),
              .b = gemm_b(w, p->depth, false),
              .alpha = 1,
              .c = out_f32(n, 0),
              .c_row_stride = p->depth};
    if (at) g.beta = 1, g.d = g.c, g.d_row_stride = p->depth, g.d_column_stride = 1;
    gemm_run(&g, w + BLOCK_QUANTIZED_ROWS * p->depth);
  }
}

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
                    "K=32 N=140 block_size=16 bits=4"}),
};
