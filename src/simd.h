/* Four floats at once: one vocabulary over wasm SIMD, SSE4.1, NEON, or plain C as an ISA of width 1 per lane.
 * f32x4 is a GCC/clang vector: + - * / and comparisons work on it directly (a comparison gives an i32x4 of 0 / -1). */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef float f32x4_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

typedef double f64x2 __attribute__((vector_size(16)));
typedef int64_t i64x2 __attribute__((vector_size(16)));
typedef float f32x2 __attribute__((vector_size(8)));

static inline f32x4 f32x4_load(const float *p) { return *(const f32x4_unaligned *)p; }
static inline void f32x4_store(float *p, f32x4 v) { *(f32x4_unaligned *)p = v; }
static inline f32x4 f32x4_splat(float x) { return (f32x4){x, x, x, x}; }
static inline i32x4 i32x4_splat(int32_t x) { return (i32x4){x, x, x, x}; }
/* a · b + c, rounded twice; once where the build is relaxed. */
static inline f32x4 f32x4_madd(f32x4 a, f32x4 b, f32x4 c) {
#if defined(TRAINLET_RELAXED)
  return __builtin_wasm_relaxed_madd_f32x4(a, b, c);
#else
  return a * b + c;
#endif
}
/* mask lane -1 takes a, 0 takes b. */
static inline f32x4 f32x4_select(i32x4 mask, f32x4 a, f32x4 b) {
  return (f32x4)(((i32x4)a & mask) | ((i32x4)b & ~mask));
}
/* Whether a lane of a mask is set. */
static inline int i32x4_any(i32x4 mask) {
#if defined(__wasm_simd128__)
  return wasm_v128_any_true((v128_t)mask);
#elif defined(__SSE4_1__)
  return _mm_movemask_ps((__m128)mask);
#else
  return mask[0] | mask[1] | mask[2] | mask[3];
#endif
}
static inline f32x4 f32x4_abs(f32x4 v) { return (f32x4)((i32x4)v & i32x4_splat(0x7fffffff)); }
/* a if a > b else b: NaN in either operand gives b. */
static inline f32x4 f32x4_max(f32x4 a, f32x4 b) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_max_ps((__m128)a, (__m128)b);
#else
  return f32x4_select(a > b, a, b);
#endif
}
/* a if a < b else b. */
static inline f32x4 f32x4_min(f32x4 a, f32x4 b) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_pmin((v128_t)b, (v128_t)a);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_min_ps((__m128)a, (__m128)b);
#else
  return f32x4_select(a < b, a, b);
#endif
}
static inline f32x4 f32x4_sqrt(f32x4 v) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_sqrt((v128_t)v);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_sqrt_ps((__m128)v);
#else
  for (int i = 0; i < 4; i++) v[i] = sqrtf(v[i]);
  return v;
#endif
}
/* To the nearest integer, ties to even. */
static inline f32x4 f32x4_nearest(f32x4 v) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_nearest((v128_t)v);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_round_ps((__m128)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  for (int i = 0; i < 4; i++) v[i] = nearbyintf(v[i]);
  return v;
#endif
}
static inline f32x4 f32x4_floor(f32x4 v) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_floor((v128_t)v);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_floor_ps((__m128)v);
#else
  for (int i = 0; i < 4; i++) v[i] = floorf(v[i]);
  return v;
#endif
}
static inline f32x4 f32x4_ceil(f32x4 v) {
#if defined(__wasm_simd128__)
  return (f32x4)wasm_f32x4_ceil((v128_t)v);
#elif defined(__SSE4_1__)
  return (f32x4)_mm_ceil_ps((__m128)v);
#else
  for (int i = 0; i < 4; i++) v[i] = ceilf(v[i]);
  return v;
#endif
}
/* Float to int32, values known to be in range. */
static inline i32x4 f32x4_to_i32(f32x4 v) {
#if defined(__wasm_simd128__)
  return (i32x4)wasm_i32x4_trunc_sat_f32x4((v128_t)v);
#elif defined(__SSE4_1__)
  return (i32x4)_mm_cvttps_epi32((__m128)v);
#else
  return __builtin_convertvector(v, i32x4);
#endif
}
/* Lanes 0 and 1, or 2 and 3; and back. */
static inline f64x2 f32x4_low(f32x4 v) { return __builtin_convertvector((f32x2){v[0], v[1]}, f64x2); }
static inline f64x2 f32x4_high(f32x4 v) { return __builtin_convertvector((f32x2){v[2], v[3]}, f64x2); }
static inline f32x4 f32x4_of_halves(f64x2 low, f64x2 high) {
  return (f32x4){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
}
static inline f32x4 i32x4_to_f32(i32x4 v) { return __builtin_convertvector(v, f32x4); }
/* ((a0 + a2) + (a1 + a3)): the same order everywhere. */
static inline float f32x4_sum(f32x4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }
static inline float f32x4_max_lane(f32x4 v) {
  float a = v[0] > v[2] ? v[0] : v[2], b = v[1] > v[3] ? v[1] : v[3];
  return a > b ? a : b;
}
