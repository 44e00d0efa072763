/* Quantized: weights as small integers with scales, by the rules and to the bits of onnxruntime.quantization. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* q = round(x / scale), ties to even, of a matrix; symmetric: the scale of a place of the axis is its largest |x| /
 * 127, or 1 where all are next to 0. Axis 0: `rows` scales, 1: `columns`. */
void quantized_int8(const float *x, size_t rows, size_t columns, int axis, int8_t *q, float *scales);

/* -127 … 127; NaN gives 127. */
static inline int8_t quantized_clamp(float v) {
  return (int8_t)(v < -INT8_MAX ? -INT8_MAX : v < INT8_MAX ? v : INT8_MAX);
}

enum { QUANTIZED_BLOCK = 32 }; /* numbers of 4 bits to a scale */
static inline size_t quantized_blocks(size_t depth) { return (depth + QUANTIZED_BLOCK - 1) / QUANTIZED_BLOCK; }

/* Quantizes to the layout of MatMulNBits: q (rows, blocks, 16), two numbers a byte, scales (rows, blocks), points
 * (rows, half of the blocks), two a byte; asymmetric: a block's least number is 0, its largest 15. Element (row, k) of
 * `depth` is x[row · row_stride + k · k_stride]. */
void quantized_int4(const float *x, size_t rows, size_t depth, size_t row_stride, size_t k_stride, uint8_t *q,
                    float *scales, uint8_t *points);
