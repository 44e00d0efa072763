/* Block quantized: numbers out of their bits, for products. */
#include "ops/quantize/block_quantized.h"

static Status check_count(const Node *n, int input, size_t wanted) {
  size_t count;
  if (shape_count(&n->in[input]->shape, &count) && count != wanted)
    return node_invalid(n, "input %d must have %zu elements", input, wanted);
  return STATUS_OK;
}

Status block_quantized_infer(Node *n) {
  int64_t depth = node_int(n, "K", 0), rows = node_int(n, "N", 0), bits = node_int(n, "bits", 4),
          block = node_int(n, "block_size", 0);
  size_t blocks, scales, bytes;
  BlockQuantized *p = NODE_PARAMS(n, BlockQuantized);
  if (!p) return STATUS_OUT_OF_MEMORY;
  if (has_in(n, 4)) return node_fail(n, STATUS_UNSUPPORTED_OP, "g_idx, an order of its rows, is not supported");
  if (bits != 2 && bits != 4 && bits != 8)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "bits is %lld, we have 2, 4 and 8", (long long)bits);
  if (depth < 1 || rows < 1 || depth > INT32_MAX || rows > INT32_MAX || block < 8 || block > INT32_MAX || block % 8)
    return node_invalid(n, "K is %lld, N %lld and block_size %lld, a multiple of 8", (long long)depth, (long long)rows,
                        (long long)block);
  TRY(node_want_type(n, 1, DTYPE_UINT8));
  TRY(node_want_float(n, 2));
  blocks = ((size_t)depth + (size_t)block - 1) / (size_t)block;
  if (!size_multiply((size_t)rows, blocks, &scales) || !size_multiply(scales, (size_t)(block * bits / 8), &bytes))
    return STATUS_OUT_OF_MEMORY;
  TRY(check_count(n, 1, bytes));
  TRY(check_count(n, 2, scales));
  bool floats = has_in(n, 3) && n->in[3]->type == DTYPE_FLOAT32;
  if (!floats) TRY(node_want_type(n, 3, DTYPE_UINT8));
  if (has_in(n, 3)) TRY(check_count(n, 3, floats ? scales : (size_t)rows * ((blocks * (size_t)bits + 7) / 8)));
  *p = (BlockQuantized){(size_t)rows, (size_t)depth, (size_t)block, blocks, (unsigned)bits};
  return STATUS_OK;
}

bool block_quantized_weight_only(const Node *n, WeightOnly *w) {
  const BlockQuantized *p = n->params;
  bool bytes = p->bits == 8;
  *w = (WeightOnly){.kind = bytes ? WEIGHT_ONLY_8 : WEIGHT_ONLY_4,
                    .dots = true,
                    .columns = p->rows,
                    .depth = p->depth,
                    .block = p->block,
                    .data = n->in[1]->data,
                    .scales = in_f32(n, 2),
                    .scale_column = p->blocks,
                    .scale_block = 1,
                    .points = has_in(n, 3) ? n->in[3]->data : NULL,
                    .point_column = bytes ? p->blocks : p->blocks + p->blocks % 2,
                    .point_block = 1,
                    .point = bytes ? 0 : 8,
                    .flip = bytes ? 0x80 : 0};
  return p->bits != 2 && p->block * p->blocks == p->depth && !(has_in(n, 3) && n->in[3]->type == DTYPE_FLOAT32);
}

static unsigned number_at(const uint8_t *bytes, size_t i, unsigned bits) {
  size_t bit = i * bits;
  return bytes[bit / 8] >> (bit % 8) & ((1u << bits) - 1);
}

static float zero_point(const Node *n, const BlockQuantized *p, size_t row, size_t block) {
  if (!has_in(n, 3)) return (float)(1u << (p->bits - 1));
  if (n->in[3]->type == DTYPE_FLOAT32) return in_f32(n, 3)[row * p->blocks + block];
  return (float)number_at((const uint8_t *)n->in[3]->data + row * ((p->blocks * p->bits + 7) / 8), block, p->bits);
}

/* w(row, k) */
static float weight_at(const Node *n, size_t row, size_t k) {
  const BlockQuantized *p = n->params;
  size_t block = k / p->block, at = row * p->blocks + block;
  const uint8_t *bytes = (const uint8_t *)n->in[1]->data + at * (p->block * p->bits / 8);
  return ((float)number_at(bytes, k % p->block, p->bits) - zero_point(n, p, row, block)) * in_f32(n, 2)[at];
}

/* W, or its transpose. */
typedef struct Side {
  const Node *n;
  bool turned;
} Side;

static void fill(const void *side, size_t column, size_t count, size_t from, size_t depth, float *packed) {
  const Side *s = side;
  for (size_t k = from; k < from + depth; k++)
    for (size_t i = column; i < column + 8; i++)
      *packed++ = i >= column + count ? 0 : s->turned ? weight_at(s->n, k, i) : weight_at(s->n, i, k);
}

Gemm block_quantized_gemm(const Node *n, bool turned) {
  const BlockQuantized *p = n->params;
  WeightOnly w;
  size_t columns = turned ? p->depth : p->rows, depth = turned ? p->rows : p->depth;
  return (Gemm){.rows = shape_span(&n->in[0]->shape, 0, n->in[0]->shape.rank - 1),
                .columns = columns,
                .depth = depth,
                .a = gemm_a(in_f32(n, 0), depth, false),
                .fill_b = block_quantized_weight_only(n, &w) ? weight_only_fill : fill,
                .alpha = 1,
                .beta = 1,
                .d_column_stride = true,
                .c = n->out[0]->data,
                .c_row_stride = columns};
}

void block_quantized_run(const Node *n, bool turned, const float *bias) {
  Gemm g = block_quantized_gemm(n, turned);
  WeightOnly w;
  Side side = {n, turned};
  block_quantized_weight_only(n, &w);
  w.turned = turned;
  g.filled_b = g.fill_b == weight_only_fill ? (const void *)&w : &side;
  g.d = bias;
  gemm_run(&g, n->scratch);
}
