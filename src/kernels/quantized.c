/* Quantized: the least and largest number of each channel or block, then each number. */
#include "kernels/quantized.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "size.h"

void quantized_int8(const float *x, size_t rows, size_t columns, int axis, int8_t *q, float *scales) {
  memset(scales, 0, (axis ? columns : rows) * sizeof *scales);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      float *most = &scales[axis ? j : i], size = fabsf(x[i * columns + j]);
      if (size > *most) *most = size;
    }
  for (size_t i = 0; i < (axis ? columns : rows); i++) {
    double scale = (double)scales[i] / INT8_MAX;
    scales[i] = scale < (double)FLT_MIN ? 1 : (float)scale;
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++, x++) {
      *q++ = quantized_clamp(rintf(*x / scales[axis ? j : i]));
    }
}

enum { MOST = 15 };

/* NaN, of a number divided by next to nothing, is 0. */
static uint8_t nibble_of(float v) { return v > 0 ? (uint8_t)(v < MOST ? roundf(v) : MOST) : 0; }

static float block_int4(const float *x, size_t stride, size_t count, uint8_t *q, uint8_t *point) {
  float least = 0, most = 0;
  for (size_t k = 0; k < count; k++) {
    float v = x[k * stride];
    if (v < least) least = v;
    if (v > most) most = v;
  }
  float scale = (most - least) / MOST, per = scale != 0 ? 1 / scale : 0;
  *point = nibble_of(scale != 0 ? 0 - least / scale : least);
  for (size_t k = 0; k < count; k++) q[k / 2] |= (uint8_t)(nibble_of(x[k * stride] * per + *point) << k % 2 * 4);
  return scale;
}

void quantized_int4(const float *x, size_t rows, size_t depth, size_t row_stride, size_t k_stride, uint8_t *q,
                    float *scales, uint8_t *points) {
  size_t blocks = quantized_blocks(depth), pairs = (blocks + 1) / 2, bytes = QUANTIZED_BLOCK / 2;
  memset(q, 0, rows * blocks * bytes);
  memset(points, 0x88, rows * pairs);
  for (size_t i = 0; i < rows * blocks; i++) {
    size_t row = i / blocks, block = i % blocks, at = block * QUANTIZED_BLOCK;
    uint8_t point, *pair = &points[row * pairs + block / 2];
    scales[i] = block_int4(x + row * row_stride + at * k_stride, k_stride, size_min(QUANTIZED_BLOCK, depth - at),
                           q + i * bytes, &point);
    *pair = block % 2 ? (uint8_t)((*pair & 15) | point << 4) : (uint8_t)((*pair & 0xf0) | point);
  }
}
