/* Number: one loop for each type in each direction, so that every pair of types is covered. */
#include "kernels/number.h"

#include "kernels/tiny_float.h"

#include <math.h>
#include <string.h>

static float float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

float half_to_float(uint16_t bits) {
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023, sign = (uint32_t)(bits & 0x8000) << 16;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
  float tiny = (float)fraction * 0x1p-24f;
  return sign ? -tiny : tiny;
}

/* Scaled so that one unit in the last place of the half is 1; nearbyint then rounds only once. */
uint16_t half_of_double(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  double a = fabs(x);
  int exponent;
  if (isnan(x)) return sign | 0x7e00;
  if (a >= 65520) return sign | 0x7c00;
  frexp(a, &exponent);
  if (exponent < -13 || a == 0) exponent = -13;                  /* subnormal */
  uint32_t units = (uint32_t)nearbyint(ldexp(a, 11 - exponent)); /* 1024 … 2048 where normal */
  return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + units));
}

float bfloat16_to_float(uint16_t bits) { return float_of_bits((uint32_t)bits << 16); }

uint16_t bfloat16_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define EACH(statement)                                                                                                \
  do {                                                                                                                 \
    for (size_t i = 0; i < count; i++) statement;                                                                      \
  } while (0)
#define LOAD(kind, T)                                                                                                  \
  do {                                                                                                                 \
    const T *from = (const T *)x + at;                                                                                 \
    EACH(to->kind[i] = from[i]);                                                                                       \
  } while (0)

static void load(Numbers *to, const void *x, DType type, size_t at, size_t count) {
  switch (type) {
    case DTYPE_FLOAT32: LOAD(floats, float); break;
    case DTYPE_FLOAT64: LOAD(floats, double); break;
    case DTYPE_FLOAT16: EACH(to->floats[i] = half_to_float(((const uint16_t *)x)[at + i])); break;
    case DTYPE_BFLOAT16: EACH(to->floats[i] = bfloat16_to_float(((const uint16_t *)x)[at + i])); break;
    case DTYPE_INT64:
    case DTYPE_UINT64: LOAD(ints, int64_t); break;
    case DTYPE_INT32: LOAD(ints, int32_t); break;
    case DTYPE_UINT32: LOAD(ints, uint32_t); break;
    case DTYPE_INT16: LOAD(ints, int16_t); break;
    case DTYPE_UINT16: LOAD(ints, uint16_t); break;
    case DTYPE_INT2:
    case DTYPE_INT4:
    case DTYPE_INT8: LOAD(ints, int8_t); break;
    case DTYPE_FLOAT8E4M3FN:
    case DTYPE_FLOAT8E4M3FNUZ:
    case DTYPE_FLOAT8E5M2:
    case DTYPE_FLOAT8E5M2FNUZ:
    case DTYPE_FLOAT8E8M0:
    case DTYPE_FLOAT4E2M1: EACH(to->floats[i] = tiny_to_double(((const uint8_t *)x)[at + i], type)); break;
    default: LOAD(ints, uint8_t); break;
  }
}

void numbers_load(Numbers *to, const void *x, DType type, size_t at, size_t step, size_t count) {
  if (!count) return;
  load(to, x, type, at, step ? count : 1);
  for (size_t i = step ? count : 1; i < count; i++) to->ints[i] = to->ints[0]; /* the bits, of a double too */
}

static int64_t to_int(double x, double low, double high) {
  if (isnan(x)) return 0;
  if (x <= low) return (int64_t)low;
  return x >= high ? (high < 9.2e18 ? (int64_t)high : INT64_MAX) : (int64_t)x;
}

int64_t number_cut(double x) { return to_int(x, -0x1p63, 0x1p63); }

static uint64_t key_of_double(double x) {
  uint64_t bits, sign = (uint64_t)1 << 63;
  x += 0.0;
  memcpy(&bits, &x, sizeof bits);
  return x != x ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

uint64_t number_key_of_any(const void *x, DType type, size_t at) {
  Numbers number;
  if (type == DTYPE_FLOAT32) return key_of_double((double)((const float *)x)[at]); /* frequent: needs no block */
  numbers_load(&number, x, type, at, 1, 1);
  if (dtype_is_float(type)) return key_of_double(number.floats[0]);
  return (uint64_t)number.ints[0] ^ (uint64_t)(type != DTYPE_UINT64) << 63;
}

static uint64_t to_uint64(double x) { return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x; }

/* The number of bits of an integer type of at most 32 bits; negative for a signed type; 0 for other types. */
static int bits_of(DType type) {
  switch (type) {
    case DTYPE_INT32: return -32;
    case DTYPE_UINT32: return 32;
    case DTYPE_INT16: return -16;
    case DTYPE_UINT16: return 16;
    case DTYPE_INT8: return -8;
    case DTYPE_UINT8: return 8;
    case DTYPE_INT4: return -4;
    case DTYPE_UINT4: return 4;
    case DTYPE_INT2: return -2;
    case DTYPE_UINT2: return 2;
    default: return 0;
  }
}

#define STORE(T, value) EACH(((T *)y)[at + i] = (T)(value))

void numbers_store_floats(const Numbers *from, void *y, DType type, size_t at, size_t count) {
  const double *x = from->floats;
  int bits = bits_of(type);
  if (bits) {
    double low = bits < 0 ? -ldexp(1, -bits - 1) : 0, high = ldexp(1, bits < 0 ? -bits - 1 : bits) - 1;
    Numbers whole;
    EACH(whole.ints[i] = to_int(x[i], low, high));
    numbers_store_ints(&whole, y, type, at, count);
    return;
  }
  switch (type) {
    case DTYPE_FLOAT32: STORE(float, x[i]); break;
    case DTYPE_FLOAT64: STORE(double, x[i]); break;
    case DTYPE_FLOAT16: STORE(uint16_t, half_of_double(x[i])); break;
    case DTYPE_BFLOAT16: STORE(uint16_t, bfloat16_of_float((float)x[i])); break;
    case DTYPE_INT64: STORE(int64_t, number_cut(x[i])); break;
    case DTYPE_UINT64: STORE(uint64_t, to_uint64(x[i])); break;
    case DTYPE_BOOL: STORE(uint8_t, x[i] != 0); break;
    default: STORE(uint8_t, tiny_of_double(x[i], type, true, TINY_UP)); break;
  }
}

void numbers_store_ints(const Numbers *from, void *y, DType type, size_t at, size_t count) {
  const int64_t *x = from->ints;
  switch (type) {
    case DTYPE_FLOAT32: STORE(float, x[i]); break;
    case DTYPE_FLOAT64: STORE(double, x[i]); break;
    case DTYPE_FLOAT16: STORE(uint16_t, half_of_double((double)x[i])); break;
    case DTYPE_BFLOAT16: STORE(uint16_t, bfloat16_of_float((float)x[i])); break;
    case DTYPE_INT64:
    case DTYPE_UINT64: STORE(int64_t, x[i]); break;
    case DTYPE_INT32:
    case DTYPE_UINT32: STORE(uint32_t, x[i]); break;
    case DTYPE_INT16:
    case DTYPE_UINT16: STORE(uint16_t, x[i]); break;
    case DTYPE_INT8:
    case DTYPE_UINT8: STORE(uint8_t, x[i]); break;
    case DTYPE_INT4: STORE(int8_t, (x[i] & 15) - 2 * (x[i] & 8)); break;
    case DTYPE_UINT4: STORE(uint8_t, x[i] & 15); break;
    case DTYPE_INT2: STORE(int8_t, (x[i] & 3) - 2 * (x[i] & 2)); break;
    case DTYPE_UINT2: STORE(uint8_t, x[i] & 3); break;
    case DTYPE_BOOL: STORE(uint8_t, x[i] != 0); break;
    default: STORE(uint8_t, tiny_of_double((double)x[i], type, true, TINY_UP)); break;
  }
}
