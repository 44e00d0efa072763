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

static inline f32x4 add_square(const float *a, const float *b, f32x4 sums) {
  f32x4 d = f32x4_load(a) - f32x4_load(b);
  return f32x4_madd(d, d, sums);
}

void row_distances(const float *a, const float *b, size_t count, float d[4]) {
  f32x4 p = {0}, q = {0}, r = {0}, s = {0};
  size_t i = 0;
  for (; i + 4 <= count; i += 4, b += 4) {
    p = add_square(a + i, b, p), q = add_square(a + i, b + count, q);
    r = add_square(a + i, b + 2 * count, r), s = add_square(a + i, b + 3 * count, s);
  }
  /* The four sums side by side, each in the order of f32x4_sum. */
  f32x4 pq = __builtin_shufflevector(p, q, 0, 4, 1, 5) + __builtin_shufflevector(p, q, 2, 6, 3, 7);
  f32x4 rs = __builtin_shufflevector(r, s, 0, 4, 1, 5) + __builtin_shufflevector(r, s, 2, 6, 3, 7);
  f32x4_store(d, __builtin_shufflevector(pq, rs, 0, 1, 4, 5) + __builtin_shufflevector(pq, rs, 2, 3, 6, 7));
  for (; i < count; i++, b++)
    for (size_t k = 0; k < 4; k++) d[k] += (a[i] - b[k * count]) * (a[i] - b[k * count]);
}

void row_add(float *to, const float *from, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) f32x4_store(to + i, f32x4_load(to + i) + f32x4_load(from + i));
  for (; i < count; i++) to[i] += from[i];
}
