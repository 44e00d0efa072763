/* Cast row: a loop for each pair, which the compiler makes vectors of. */
#include "kernels/cast_row.h"

#include "kernels/number.h"
#include "kernels/vector_math.h"

#define ROW(name, From, To, EXPR)                                                                                      \
  static void name(void *y_, const void *x_, size_t count) {                                                           \
    const From *from = x_;                                                                                             \
    To *y = y_;                                                                                                        \
    for (size_t i = 0; i < count; i++) {                                                                               \
      From x = from[i];                                                                                                \
      y[i] = (To)(EXPR);                                                                                               \
    }                                                                                                                  \
  }

/* ---- floats as integers: cut off, limited, NaN is 0 ---- */

static inline i32x4 cut(f32x4 x) {
#if defined(__wasm_simd128__)
  return (i32x4)wasm_i32x4_trunc_sat_f32x4((v128_t)x);
#else
  i32x4 y;
  for (int i = 0; i < 4; i++) {
    float whole = x[i] < -0x1p31f ? -0x1p31f : x[i];
    y[i] = x[i] != x[i] ? 0 : whole >= 0x1p31f ? INT32_MAX : (int32_t)whole;
  }
  return y;
#endif
}

static inline i32x4 cut_rest(const float *x, size_t rest) { return cut(f32x4_load_up_to(x, rest)); }

static void floats_to_int32(void *y_, const void *x_, size_t count) {
  const float *x = x_;
  int32_t *y = y_;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    i32x4 four = cut(f32x4_load(x + i));
    memcpy(y + i, &four, sizeof four);
  }
  i32x4 rest = count - i ? cut_rest(x + i, count - i) : (i32x4){0};
  memcpy(y + i, &rest, (count - i) * sizeof *y);
}

static inline int64_t cut_wide(float x) {
#if defined(__wasm__)
  return __builtin_wasm_trunc_saturate_s_i64_f32(x);
#else
  return number_cut((double)x);
#endif
}
ROW(floats_to_int64, float, int64_t, cut_wide(x))

static inline i32x4 to_byte(i32x4 x) {
  x &= ~(x >> 31);
  i32x4 over = x > 255;
  return (x & ~over) | (over & 255);
}

typedef uint8_t Bytes __attribute__((vector_size(16)));

static void floats_to_bytes(void *y_, const void *x_, size_t count) {
  const float *x = x_;
  uint8_t *y = y_;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    Bytes low = (Bytes)to_byte(cut(f32x4_load(x + i))), high = (Bytes)to_byte(cut(f32x4_load(x + i + 4)));
    Bytes both = __builtin_shufflevector(low, high, 0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    memcpy(y + i, &both, 8);
  }
  for (; i < count; i++) y[i] = (uint8_t)to_byte(cut(f32x4_splat(x[i])))[0];
}

/* ---- halves: the nearest, ties to even ---- */

static inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Below the smallest normal half, adding 0.5 rounds to its units, which then are the last bits. */
static inline uint32_t half_bits(float x) {
  uint32_t bits = bits_of(x), a = bits & 0x7fffffff;
  float size;
  memcpy(&size, &a, sizeof size);
  uint32_t normal = (a + ((uint32_t)(15 - 127) << 23) + 0xfff + (a >> 13 & 1)) >> 13;
  uint32_t tiny = bits_of(size + 0.5f) - 0x3f000000;
  uint32_t half = a < 0x38800000 ? tiny : a >= 0x477ff000 ? 0x7c00 : normal;
  return (a > 0x7f800000 ? 0x7e00 : half) | (bits >> 16 & 0x8000);
}

ROW(floats_to_halves, float, uint16_t, half_bits(x))
ROW(floats_to_bools, float, uint8_t, x != 0)
ROW(bytes_to_floats, uint8_t, float, x)
ROW(bytes_to_int64, uint8_t, int64_t, x)
ROW(int32_to_floats, int32_t, float, x)
ROW(int32_to_int64, int32_t, int64_t, x)
ROW(int64_to_floats, int64_t, float, x)
ROW(int64_to_int32, int64_t, uint32_t, x)
ROW(int64_to_bools, int64_t, uint8_t, x != 0)

CastRow *cast_row(DType from, DType to) {
  static const struct {
    DType from, to;
    CastRow *row;
  } rows[] = {
      {DTYPE_FLOAT32, DTYPE_INT32, floats_to_int32},    {DTYPE_FLOAT32, DTYPE_UINT8, floats_to_bytes},
      {DTYPE_FLOAT32, DTYPE_FLOAT16, floats_to_halves}, {DTYPE_FLOAT32, DTYPE_BOOL, floats_to_bools},
      {DTYPE_FLOAT32, DTYPE_INT64, floats_to_int64},    {DTYPE_UINT8, DTYPE_FLOAT32, bytes_to_floats},
      {DTYPE_BOOL, DTYPE_FLOAT32, bytes_to_floats},     {DTYPE_BOOL, DTYPE_INT64, bytes_to_int64},
      {DTYPE_INT32, DTYPE_FLOAT32, int32_to_floats},    {DTYPE_INT32, DTYPE_INT64, int32_to_int64},
      {DTYPE_INT64, DTYPE_FLOAT32, int64_to_floats},    {DTYPE_INT64, DTYPE_INT32, int64_to_int32},
      {DTYPE_INT64, DTYPE_BOOL, int64_to_bools},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].from == from && rows[i].to == to) return rows[i].row;
  return NULL;
}
