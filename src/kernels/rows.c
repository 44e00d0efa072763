/* Rows: four sums side by side, then what is left. */
#include "kernels/rows.h"

#include "simd.h"

float row_product(const float *a, const float *b, size_t count) {
  f32x4 sums = {0};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) sums = f32x4_madd(f32x4_load(a + i), f32x4_load(b + i), sums);
  float sum = f32x4_sum(sums);
  for (; i < count; i++) sum += a[i] * b[i];
  return sum;
}

float row_distance(const float *a, const float *b, size_t count) {
  f32x4 sums = {0};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    f32x4 d = f32x4_load(a + i) - f32x4_load(b + i);
    sums = f32x4_madd(d, d, sums);
  }
  float sum = f32x4_sum(sums);
  for (; i < count; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}
