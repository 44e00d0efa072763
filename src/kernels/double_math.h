/* Double math: exp, log, sine and cosine of a double by series of our own, so that they are the same on every machine;
 * the relative error is at most 1e-15. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

/* x = 2^k·m, m near 1;  log m = 2·(s + s³/3 + s⁵/5 …), s = (m - 1) / (m + 1). */
static inline double double_log(double x) {
  if (!(x > 0) || x == INFINITY) return x == 0 ? -INFINITY : x > 0 ? x : NAN;
  int shift = 0;
  if (x < 0x1p-1000) x *= 0x1p60, shift = 60;
  uint64_t bits;
  double m;
  memcpy(&bits, &x, sizeof bits);
  int64_t k = (int64_t)(bits - 0x3fe6a09e667f3bcdu) >> 52; /* the bits of √½ */
  bits -= (uint64_t)k << 52;
  memcpy(&m, &bits, sizeof m);
  double s = (m - 1) / (m + 1), series = 0;
  for (int i = 10; i >= 0; i--) series = series * s * s + 1.0 / (2 * i + 1);
  return (double)(k - shift) * 0.6931471805599453 + 2 * s * series;
}

/* x = k·ln 2 + r;  e^r = Σ rⁱ / i!. */
static inline double double_exp(double x) {
  if (x != x) return x;
  if (x > 709.79) return INFINITY;
  if (x < -745.2) return 0;
  double k = nearbyint(x * 1.4426950408889634), r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10,
         y = 1;
  for (int i = 14; i >= 1; i--) y = 1 + y * r / i;
  return ldexp(y, (int)k);
}

/* The cosine and sine of 2π·k / n, k < n: of the remainder of a quarter turn, |r| ≤ π / 4, by their series. */
static inline void double_turn(uint64_t k, uint64_t n, double *cosine, double *sine) {
  uint64_t quarter = (8 * k + n) / (2 * n);
  double r = ((double)(4 * k) - (double)(quarter * n)) / (double)n * 1.5707963267948966, c = 1, s = 1;
  for (int i = 9; i >= 1; i--) c = 1 - c * r * r / (2 * i * (2 * i - 1)), s = 1 - s * r * r / (2 * i * (2 * i + 1));
  s *= r;
  *cosine = quarter & 1 ? quarter & 2 ? s : -s : quarter & 2 ? -c : c;
  *sine = quarter & 1 ? quarter & 2 ? -c : c : quarter & 2 ? -s : s;
}
