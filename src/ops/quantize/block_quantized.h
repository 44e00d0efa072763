/* Block quantized: a matrix of small integers, as MatMulNBits keeps it: each block of a row has a scale and a zero
 * point.
 *
 *   row n  │ block 0: blob bytes │ block 1 │ …      w(n, k) = (q(n, k) - zero point of the block)·scale of the block
 */
#pragma once
#include "graph/op.h"
#include "kernels/narrow.h"

typedef struct BlockQuantized {
  size_t rows, depth, block, blocks; /* rows × depth numbers, `block` of them to a scale */
  unsigned bits;                     /* of a number: 2, 4 or 8; the first is in the lowest bits of its byte */
} BlockQuantized;

/* Checks inputs 1 … 3 (B, scales, zero points) against the attributes K, N, bits and block_size; fills n->params. */
Status block_quantized_infer(Node *n);
/* Rows first … first + count as floats. */
void block_quantized_rows(const Node *n, size_t first, size_t count, float *out);

/* The matrix for a product of few rows; false where its zero points are floats or its numbers are of 2 bits. */
bool block_quantized_narrow(const Node *n, Narrow *w);

/* Scratch for the rows at a time, then for the product. */
Status block_quantized_scratch(Node *n, size_t gemm_bytes);

enum { BLOCK_QUANTIZED_ROWS = 128 }; /* at a time */
