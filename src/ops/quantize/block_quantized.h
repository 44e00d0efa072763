/* Block quantized: a matrix of small integers, as MatMulNBits keeps it: each block of a row has a scale and a zero
 * point.
 *
 *   row n  │ block 0: blob bytes │ block 1 │ …      w(n, k) = (q(n, k) - zero point of the block)·scale of the block
 */
#pragma once
#include "graph/op.h"
#include "kernels/gemm.h"
#include "kernels/weight_only.h"

typedef struct BlockQuantized {
  size_t rows, depth, block, blocks; /* rows × depth numbers, `block` of them to a scale */
  unsigned bits;                     /* bits of a number: 2, 4 or 8; the first is in the lowest bits of its byte */
} BlockQuantized;

/* Checks inputs 1 … 3 (B, scales, zero points) against the attributes K, N, bits and block_size; fills n->params. */
Status block_quantized_infer(Node *n);
/* The matrix; false where its zero points are floats, its numbers of 2 bits, or its last blocks not full. */
bool block_quantized_weight_only(const Node *n, WeightOnly *w);

/* Rows of input 0 times Wᵀ, or `turned` times W, a panel at a time; without bias. */
Gemm block_quantized_gemm(const Node *n, bool turned);
/* On all threads, with the scratch that the product needs; bias: a row, or NULL. */
void block_quantized_run(const Node *n, bool turned, const float *bias);
