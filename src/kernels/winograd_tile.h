/* The transforms of Winograd's F(4×4, 3×3), each of four tiles at once, one a lane, with 0, ±√½, ±√2, ∞ as the points:
 * their error is that of the plain sum (with 0, ±1, ±2, ∞ it is five times larger).
 *
 *   y = Aᵀ ((G w Gᵀ) ∘ (Bᵀ x B)) A        x 6×6, w 3×3, y 4×4; and so  dw = Gᵀ ((A dy Aᵀ) ∘ (Bᵀ x B)) G
 */
#pragma once
#include <stddef.h>
#include "simd.h"

#define SQRT2 1.41421356f
#define SQRT1_2 0.70710678f
#define TILE_INLINE static inline __attribute__((always_inline))

/* ---- a row or column of each matrix ---- */

/* Bᵀ x */
TILE_INLINE void winograd_b(const f32x4 x[6], f32x4 v[6]) {
  f32x4 even = x[4] - 2 * x[2], odd = SQRT1_2 * x[3] - SQRT2 * x[1];
  f32x4 even2 = x[4] - 0.5f * x[2], odd2 = SQRT2 * x[3] - SQRT1_2 * x[1];
  v[0] = x[0] - 2.5f * x[2] + x[4];
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = even2 + odd2;
  v[4] = even2 - odd2;
  v[5] = x[1] - 2.5f * x[3] + x[5];
}

/* Aᵀ m */
TILE_INLINE void winograd_a(const f32x4 m[6], f32x4 y[4]) {
  f32x4 sum = m[1] + m[2], difference = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
  y[0] = m[0] + sum + sum2;
  y[1] = SQRT1_2 * difference + SQRT2 * difference2;
  y[2] = 0.5f * sum + 2 * sum2;
  y[3] = SQRT1_2 / 2 * difference + 2 * SQRT2 * difference2 + m[5];
}

/* A dy */
TILE_INLINE void winograd_a_turned(const f32x4 y[4], f32x4 m[6]) {
  f32x4 even = y[0] + 0.5f * y[2], odd = SQRT1_2 * y[1] + SQRT1_2 / 2 * y[3];
  f32x4 even2 = y[0] + 2 * y[2], odd2 = SQRT2 * y[1] + 2 * SQRT2 * y[3];
  m[0] = y[0];
  m[1] = even + odd;
  m[2] = even - odd;
  m[3] = even2 + odd2;
  m[4] = even2 - odd2;
  m[5] = y[3];
}

/* G w */
TILE_INLINE void winograd_g(const f32x4 w[3], f32x4 u[6]) {
  f32x4 even = -2.0f / 3 * w[0] - 1.0f / 3 * w[2], odd = -SQRT2 / 3 * w[1];
  f32x4 even2 = 1.0f / 6 * w[0] + 1.0f / 3 * w[2], odd2 = SQRT2 / 6 * w[1];
  u[0] = w[0];
  u[1] = even + odd;
  u[2] = even - odd;
  u[3] = even2 + odd2;
  u[4] = even2 - odd2;
  u[5] = w[2];
}

/* Gᵀ u */
TILE_INLINE void winograd_g_turned(const f32x4 u[6], f32x4 w[3]) {
  f32x4 sum = u[1] + u[2], difference = u[1] - u[2], sum2 = u[3] + u[4], difference2 = u[3] - u[4];
  w[0] = u[0] - 2.0f / 3 * sum + 1.0f / 6 * sum2;
  w[1] = SQRT2 / 6 * difference2 - SQRT2 / 3 * difference;
  w[2] = 1.0f / 3 * sum2 - 1.0f / 3 * sum + u[5];
}

/* ---- four tiles that lie anywhere ---- */

TILE_INLINE void turn_four(f32x4 v[4]) {
  f32x4 a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  f32x4 c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7), d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* v[cell · stride] = Bᵀ x B of the 6×6 tiles at p, their rows `row` apart */
static inline void winograd_input(const float *const p[4], size_t row, float *v, size_t stride) {
  f32x4 half[6][6];
  for (size_t i = 0; i < 6; i++) {
    f32x4 x[6], last[4];
    for (int l = 0; l < 4; l++) x[l] = f32x4_load(p[l] + i * row), last[l] = f32x4_load(p[l] + i * row + 2);
    turn_four(x);
    turn_four(last);
    x[4] = last[2];
    x[5] = last[3];
    winograd_b(x, half[i]);
  }
  for (size_t j = 0; j < 6; j++) {
    f32x4 x[6], out[6];
    for (int i = 0; i < 6; i++) x[i] = half[i][j];
    winograd_b(x, out);
    for (size_t i = 0; i < 6; i++) f32x4_store(v + (i * 6 + j) * stride, out[i]);
  }
}

/* m[cell · stride] = A dy Aᵀ of the 4×4 tiles at p */
static inline void winograd_output_turned(const float *const p[4], size_t row, float *m, size_t stride) {
  f32x4 half[4][6];
  for (size_t i = 0; i < 4; i++) {
    f32x4 y[4];
    for (int l = 0; l < 4; l++) y[l] = f32x4_load(p[l] + i * row);
    turn_four(y);
    winograd_a_turned(y, half[i]);
  }
  for (size_t j = 0; j < 6; j++) {
    f32x4 y[4], out[6];
    for (int i = 0; i < 4; i++) y[i] = half[i][j];
    winograd_a_turned(y, out);
    for (size_t i = 0; i < 6; i++) f32x4_store(m + (i * 6 + j) * stride, out[i]);
  }
}

/* y[row i][tile] = four neighbours of Aᵀ m A */
static inline void winograd_output(const float *m, size_t stride, f32x4 y[4][4]) {
  f32x4 half[4][6];
  for (size_t j = 0; j < 6; j++) {
    f32x4 in[6], out[4];
    for (size_t i = 0; i < 6; i++) in[i] = f32x4_load(m + (i * 6 + j) * stride);
    winograd_a(in, out);
    for (int i = 0; i < 4; i++) half[i][j] = out[i];
  }
  for (int i = 0; i < 4; i++) {
    winograd_a(half[i], y[i]);
    turn_four(y[i]);
  }
}

/* u[cell · stride] = G w Gᵀ */
static inline void winograd_weight(const f32x4 w[9], float *u, size_t stride) {
  f32x4 half[6][3];
  for (int j = 0; j < 3; j++) {
    f32x4 in[3] = {w[j], w[3 + j], w[6 + j]}, out[6];
    winograd_g(in, out);
    for (int i = 0; i < 6; i++) half[i][j] = out[i];
  }
  for (size_t i = 0; i < 6; i++) {
    f32x4 out[6];
    winograd_g(half[i], out);
    for (size_t j = 0; j < 6; j++) f32x4_store(u + (i * 6 + j) * stride, out[j]);
  }
}

/* w = Gᵀ u G */
static inline void winograd_weight_turned(const f32x4 u[36], f32x4 w[9]) {
  f32x4 half[3][6];
  for (size_t j = 0; j < 6; j++) {
    f32x4 in[6], out[3];
    for (size_t i = 0; i < 6; i++) in[i] = u[i * 6 + j];
    winograd_g_turned(in, out);
    for (int i = 0; i < 3; i++) half[i][j] = out[i];
  }
  for (int i = 0; i < 3; i++) winograd_g_turned(half[i], w + 3 * i);
}
