/* Tiny floats: from bits, and rounded to them. */
#include "kernels/tiny_float.h"

#include <math.h>

typedef struct Form {
  int exponents, fractions, bias; /* bits of each */
  bool zero_is_nan;               /* -0 */
  bool infinite;                  /* the largest exponent is of infinity and NaN alone */
  bool finite;                    /* no NaN at all */
} Form;

static Form form_of(DType type) {
  switch (type) {
    case DTYPE_FLOAT8E4M3FN: return (Form){4, 3, 7};
    case DTYPE_FLOAT8E4M3FNUZ: return (Form){4, 3, 8, .zero_is_nan = true};
    case DTYPE_FLOAT8E5M2: return (Form){5, 2, 15, .infinite = true};
    case DTYPE_FLOAT8E5M2FNUZ: return (Form){5, 2, 16, .zero_is_nan = true};
    default: return (Form){2, 1, 1, .finite = true};
  }
}

/* The bits of the largest number; those above it are not finite. */
static uint8_t largest(Form f) {
  unsigned all = (1u << (f.exponents + f.fractions)) - 1;
  return (uint8_t)(f.infinite ? all - (1u << f.fractions) : f.zero_is_nan || f.finite ? all : all - 1);
}

static uint8_t sign_bit(Form f) { return (uint8_t)(1u << (f.exponents + f.fractions)); }

double tiny_to_double(uint8_t bits, DType type) {
  if (type == DTYPE_FLOAT8E8M0) return bits == 255 ? NAN : ldexp(1, bits - 127);
  Form f = form_of(type);
  uint8_t sign = bits & sign_bit(f), size = bits & (uint8_t)(sign_bit(f) - 1);
  int fraction = size & ((1 << f.fractions) - 1), exponent = size >> f.fractions;
  if (f.zero_is_nan && sign && !size) return NAN;
  double x = exponent ? ldexp((1 << f.fractions) + fraction, exponent - f.bias - f.fractions)
                      : ldexp(fraction, 1 - f.bias - f.fractions);
  if (size > largest(f)) x = f.infinite && !fraction ? INFINITY : NAN;
  return sign ? -x : x;
}

/* A power of 2, at least 2^-127. */
static uint8_t e8m0_of_double(double x, bool saturate, TinyRounding rounding) {
  double a = fabs(x);
  int exponent;
  if (isnan(x) || (!saturate && (a > 0x1p127 || a < 0x1p-127))) return 255;
  if (a >= 0x1p127) return 254;
  if (a <= 0x1p-127) return 0;
  double part = 2 * frexp(a, &exponent); /* a = part · 2^(exponent - 1), 1 ≤ part < 2 */
  return (uint8_t)(exponent + 126 + (rounding == TINY_UP ? part > 1 : rounding == TINY_NEAREST && part >= 1.5));
}

/* Scaled so that one unit in the last place is 1; nearbyint then rounds only once. */
uint8_t tiny_of_double(double x, DType type, bool saturate, TinyRounding rounding) {
  if (type == DTYPE_FLOAT8E8M0) return e8m0_of_double(x, saturate, rounding);
  Form f = form_of(type);
  uint8_t sign = signbit(x) ? sign_bit(f) : 0, top = largest(f);
  int exponent, least = 2 - f.bias;
  double a = fabs(x), units = ldexp(1, 8);
  uint8_t beyond = f.zero_is_nan ? sign_bit(f) : (uint8_t)(sign | (f.finite ? top : top + 1));
  if (isnan(x) && (f.zero_is_nan || f.finite)) return sign_bit(f);
  if (isnan(x)) return (uint8_t)(sign | (f.infinite ? top + 3 : top + 1));
  if (a < 0x1p20) {
    frexp(a, &exponent);
    if (exponent < least || a == 0) exponent = least; /* subnormal */
    units = nearbyint(ldexp(a, f.fractions + 1 - exponent)) + ldexp(exponent - least, f.fractions);
  }
  if (units > top) return saturate || f.finite ? (uint8_t)(sign | top) : beyond;
  return f.zero_is_nan && units == 0 ? 0 : (uint8_t)(sign | (uint8_t)units);
}
