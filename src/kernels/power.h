/* Power: b^n by squaring, the same on every machine; pow() differs from one libm to the next. */
#pragma once
#include <stdint.h>

static inline double power_of(double b, int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1, b *= b)
    if (n & 1) result *= b;
  return result;
}
