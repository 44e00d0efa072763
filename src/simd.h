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
typedef int8_t i8x16 __attribute__((vector_size(16)));
typedef int16_t i16x8 __attribute__((vector_size(16)));

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
/* True if a lane of a mask is set. */
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
/* The products of lanes 0 and 1, or 2 and 3, with a number, all unsigned: of 64 bits each. */
#if defined(__wasm_simd128__)
static inline i32x4 u32x4_multiply_low(i32x4 a, int32_t b) {
  return (i32x4)wasm_u64x2_extmul_low_u32x4((v128_t)a, (v128_t)i32x4_splat(b));
}
static inline i32x4 u32x4_multiply_high(i32x4 a, int32_t b) {
  return (i32x4)wasm_u64x2_extmul_high_u32x4((v128_t)a, (v128_t)i32x4_splat(b));
}
#else
typedef uint64_t u64x2 __attribute__((vector_size(16)));
static inline i32x4 u32x4_multiply_low(i32x4 a, int32_t b) {
  return (i32x4)((u64x2){(uint32_t)a[0], (uint32_t)a[1]} * (uint64_t)(uint32_t)b);
}
static inline i32x4 u32x4_multiply_high(i32x4 a, int32_t b) {
  return (i32x4)((u64x2){(uint32_t)a[2], (uint32_t)a[3]} * (uint64_t)(uint32_t)b);
}
#endif
static inline i8x16 i8x16_load(const void *p) {
  i8x16 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline i8x16 i8x16_load_half(const void *p) { /* the other eight are 0 */
#if defined(__wasm_simd128__)
  return (i8x16)wasm_v128_load64_zero(p);
#else
  i8x16 v = {0};
  memcpy(&v, p, 8);
  return v;
#endif
}
static inline void i8x16_store(void *p, i8x16 v) { memcpy(p, &v, sizeof v); }
/* The lowest byte of each lane of a, b, c and d. */
static inline i8x16 i8x16_of_lanes(i32x4 a, i32x4 b, i32x4 c, i32x4 d) {
  i8x16 ab = __builtin_shufflevector((i8x16)a, (i8x16)b, 0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  i8x16 cd = __builtin_shufflevector((i8x16)c, (i8x16)d, 0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  return __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
}
static inline i16x8 i16x8_load(const void *p) {
  i16x8 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void i16x8_store(void *p, i16x8 v) { memcpy(p, &v, sizeof v); }
static inline i8x16 i8x16_splat(int8_t x) { return (i8x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
static inline i16x8 i16x8_splat(int16_t x) { return (i16x8){x, x, x, x, x, x, x, x}; }
/* Lanes of the lower or the upper half, widened with their signs. */
#if defined(__wasm_simd128__)
static inline i16x8 i8x16_low(i8x16 v) { return (i16x8)wasm_i16x8_extend_low_i8x16((v128_t)v); }
static inline i16x8 i8x16_high(i8x16 v) { return (i16x8)wasm_i16x8_extend_high_i8x16((v128_t)v); }
#else
static inline i16x8 i8x16_low(i8x16 v) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), i16x8);
}
static inline i16x8 i8x16_high(i8x16 v) {
  return __builtin_convertvector(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15), i16x8);
}
#endif
/* The same, 2^16 times as large: one instruction where widening takes two. */
static inline i32x4 i16x8_low_shifted(i16x8 v) {
  return (i32x4)__builtin_shufflevector((i16x8){0}, v, 0, 8, 1, 9, 2, 10, 3, 11);
}
static inline i32x4 i16x8_high_shifted(i16x8 v) {
  return (i32x4)__builtin_shufflevector((i16x8){0}, v, 4, 12, 5, 13, 6, 14, 7, 15);
}
/* a0 b0 a1 b1 … of the lower halves, of the upper halves. */
static inline i8x16 i8x16_zip_low(i8x16 a, i8x16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
static inline i8x16 i8x16_zip_high(i8x16 a, i8x16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
/* The upper four bits of each byte. */
static inline i8x16 u8x16_upper(i8x16 v) {
  typedef uint8_t u8x16 __attribute__((vector_size(16)));
  return (i8x16)((u8x16)v >> 4);
}
/* v[index] of each byte of `index`, 0 for 16 and more. */
static inline i8x16 i8x16_at(i8x16 v, i8x16 index) {
#if defined(__wasm_simd128__)
  return (i8x16)wasm_i8x16_swizzle((v128_t)v, (v128_t)index);
#else
  i8x16 y = {0};
  for (int i = 0; i < 16; i++)
    if ((uint8_t)index[i] < 16) y[i] = v[index[i]];
  return y;
#endif
}
/* The lower byte of each number of a, then of b. */
static inline i8x16 i16x8_low_bytes(i16x8 a, i16x8 b) {
  return __builtin_shufflevector((i8x16)a, (i8x16)b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
/* The smaller one of each two unsigned bytes. */
static inline i8x16 u8x16_min(i8x16 a, i8x16 b) {
  typedef uint8_t u8x16 __attribute__((vector_size(16)));
  i8x16 is_less = (i8x16)((u8x16)a < (u8x16)b);
  return (a & is_less) | (b & ~is_less);
}
/* Each of eight unsigned numbers shifted right. */
static inline i16x8 u16x8_right(i16x8 v, int bits) {
  typedef uint16_t u16x8 __attribute__((vector_size(16)));
  return (i16x8)((u16x8)v >> bits);
}
/* a0 b0 + a1 b1, a2 b2 + a3 b3 … */
static inline i32x4 i16x8_dot(i16x8 a, i16x8 b) {
#if defined(__wasm_simd128__)
  return (i32x4)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#elif defined(__SSE4_1__)
  return (i32x4)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  i32x4 sum;
  for (int i = 0; i < 4; i++) sum[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
  return sum;
#endif
}
static inline i32x4 i32x4_load(const int32_t *p) {
  i32x4 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void i32x4_store(int32_t *p, i32x4 v) { memcpy(p, &v, sizeof v); }
