/* Float power: by way of logarithms in double, or of square roots. */
#include "kernels/float_power.h"

#include "kernels/vector_math.h"

/* (2^k·m)^e of two doubles, m from √½ to √2, rounded to float once in the end (0.51 ulp): the same bits on every
 * machine. log2 m = 2/ln 2 · (s + s³/3 + s⁵/5 …), s = (m-1)/(m+1);  2^f = Σ (f·ln 2)^i / i!. Even and odd terms are
 * added up apart, so that they need not wait for each other. */
static inline f64x2 power_of_two(f64x2 m, f64x2 k, f64x2 e) {
  const double scale = 2.8853900817779268, ln2 = 0.6931471805599453, shift = 0x1.8p52; /* whose last bits are free */
  f64x2 s = (m - 1.0) / (m + 1.0), z = s * s, w = z * z, limit = {200, 200};
  f64x2 even = ((w * (1.0 / 13) + 1.0 / 9) * w + 1.0 / 5) * w + 1.0, odd = (w * (1.0 / 11) + 1.0 / 7) * w + 1.0 / 3;
  f64x2 t = e * (k + s * scale * (odd * z + even));
  t = (f64x2)(((i64x2)t & (t < limit)) | ((i64x2)limit & ~(t < limit)));
  t = (f64x2)(((i64x2)t & (t > -limit)) | ((i64x2)-limit & ~(t > -limit)));
  f64x2 shifted = t + shift, f = (t - (shifted - shift)) * ln2, g = f * f;
  even = (((g * (1.0 / 40320) + 1.0 / 720) * g + 1.0 / 24) * g + 0.5) * g + 1.0;
  odd = (((g * (1.0 / 362880) + 1.0 / 5040) * g + 1.0 / 120) * g + 1.0 / 6) * g + 1.0;
  return (odd * f + even) * (f64x2)(((i64x2)shifted + 1023) << 52);
}

/* The same of four, or of one. */
static f32x4 powers_positive(f32x4 x, f32x4 e) {
  i32x4 tiny = x < 0x1p-126f, bits = (i32x4)f32x4_select(tiny, x * 0x1p24f, x);
  i32x4 exponent = (bits - 0x3f3504f3) >> 23; /* the bits of √½: below it, m takes one more factor of 2 */
  f32x4 m = (f32x4)(bits - (exponent << 23)), k = i32x4_to_f32(exponent - (tiny & 24));
  return f32x4_of_halves(power_of_two(f32x4_low(m), f32x4_low(k), f32x4_low(e)),
                         power_of_two(f32x4_high(m), f32x4_high(k), f32x4_high(e)));
}
static float pow_positive(float x, float e) { return powers_positive(f32x4_splat(x), f32x4_splat(e))[0]; }

static bool is_odd(float e) { return fabsf(e) < 0x1p24f && (float)(int32_t)e == e && ((int32_t)e & 1); }
bool float_is_whole(float e) { return fabsf(e) >= 0x1p24f || (float)(int32_t)e == e; }

float float_power(float x, float e) {
  float a = fabsf(x);
  if (e == 0 || x == 1) return 1;
  if (x != x || e != e) return NAN;
  if (a == 1 && fabsf(e) == INFINITY) return 1;
  float y = a == 0 || a == INFINITY ? ((a == 0) == (e > 0) ? 0 : INFINITY) : pow_positive(a, e);
  if (!signbit(x)) return y;
  return is_odd(e) ? -y : x == 0 || a == INFINITY || float_is_whole(e) ? y : NAN;
}

f32x4 float_powers(f32x4 x, f32x4 e) {
  i32x4 plain = (x > f32x4_splat(0)) & (x < f32x4_splat(INFINITY)) & (f32x4_abs(e) < f32x4_splat(INFINITY));
  if (!i32x4_any(~plain)) return powers_positive(x, e);
  for (int k = 0; k < 4; k++) x[k] = float_power(x[k], e[k]);
  return x;
}

/* ---- exponents that are quarters, as -0.75 and -1.75 of LRN and its gradient: by square roots ---- */

/* 4·e for a whole number up to 7; 0 where it is none. */
static int quarters_of(float e) {
  bool small = fabsf(e) < 2;
  return small && (float)(int)(4 * e) == 4 * e ? (int)(4 * e) : 0;
}

/* x^(quarters / 4), 4.5 ulp; neither x^-2 nor its parts leave the range of normal numbers. */
static f32x4 quarter_power(f32x4 x, int quarters) {
  unsigned bits = (unsigned)(quarters < 0 ? -quarters : quarters);
  f32x4 root = f32x4_sqrt(x), y = bits & 4 ? x : f32x4_splat(1);
  if (bits & 2) y *= root;
  if (bits & 1) y *= f32x4_sqrt(root);
  return quarters < 0 ? 1.0f / y : y;
}

/* The rest by the logarithm: each lane by itself, so that no neighbour changes its bits. */
static f32x4 quarter_four(f32x4 x, int quarters) {
  i32x4 near = (x > f32x4_splat(1e-16f)) & (x < f32x4_splat(1e16f));
  f32x4 y = quarter_power(x, quarters);
  return i32x4_any(~near) ? f32x4_select(near, y, float_powers(x, f32x4_splat((float)quarters / 4))) : y;
}

void float_powers_by(float *y, const float *x, float e, size_t count) {
  int quarters = quarters_of(e);
  for (size_t i = 0; i < count; i += 4) {
    f32x4 v = f32x4_load_up_to(x + i, count - i);
    f32x4_store_up_to(y + i, quarters ? quarter_four(v, quarters) : float_powers(v, f32x4_splat(e)), count - i);
  }
}
