/* Vector math: exp, log, tanh, sigmoid, erf and friends of four floats by our own polynomials (minimax fits, rounded to
 * float). There is no libm, and fused multiply-add only in the relaxed build, so that a lane's result depends only on
 * its input, natively and in wasm. The errors stated are the largest over every float, against double precision.
 */
#pragma once
#include "simd.h"

/* Loads the lanes that exist: p[0] fills the rest, so that no lane computes with numbers that are not in the data.
 * `left` ≥ 1. */
static inline f32x4 f32x4_load_up_to(const float *p, size_t left) {
  if (left >= 4) return f32x4_load(p);
  f32x4 v = f32x4_splat(p[0]);
  if (left > 1) v[1] = p[1];
  if (left > 2) v[2] = p[2];
  return v;
}
static inline void f32x4_store_up_to(float *p, f32x4 v, size_t left) {
  if (left >= 4) {
    f32x4_store(p, v);
    return;
  }
  p[0] = v[0];
  if (left > 1) p[1] = v[1];
  if (left > 2) p[2] = v[2];
}

/* A step of Horner's scheme: sum · x + c. */
static inline f32x4 f32x4_next(f32x4 sum, f32x4 x, float c) { return f32x4_madd(sum, x, f32x4_splat(c)); }

/* v × 2^k for |k| ≤ 252, in two steps so that the result may be subnormal or infinite. */
static inline f32x4 f32x4_scale(f32x4 v, i32x4 k) {
  i32x4 half = k >> 1;
  return v * (f32x4)((half + 127) << 23) * (f32x4)((k - half + 127) << 23);
}

/* The nearest integer of |x| < 2^22 is in the last bits of x + SHIFT, and subtracting SHIFT gives it as a float:
 * cheaper than rounding and converting, for which wasm must saturate. */
#define F32X4_SHIFT 0x1.8p23f

/* e^r - 1 from r and r² for |r| ≤ ½ ln 2: r + r²·q(r). */
static inline f32x4 f32x4_expm1_of_rest(f32x4 r) {
  f32x4 q = f32x4_next(f32x4_next(f32x4_splat(0.00138209667f), r, 0.00836866908f), r, 0.0416682623f);
  q = f32x4_next(f32x4_next(q, r, 0.166665211f), r, 0.49999994f);
  return f32x4_madd(r * r, q, r);
}
static inline f32x4 f32x4_exp_of_rest(f32x4 r) { return f32x4_expm1_of_rest(r) + 1.0f; }

/* x - n·ln 2, its two parts with one rounding at the end. */
static inline f32x4 f32x4_less_ln2(f32x4 x, f32x4 n) {
  return f32x4_madd(n, f32x4_splat(2.12194440e-4f), f32x4_madd(n, f32x4_splat(-0.693359375f), x));
}

/* e^x, 1.0 ulp. x = n·ln 2 + r. Overflow is inf, underflow gradual. */
static inline f32x4 f32x4_exp(f32x4 x) {
  x = f32x4_max(f32x4_splat(-104.0f), f32x4_min(f32x4_splat(89.0f), x)); /* NaN stays */
  f32x4 shifted = f32x4_next(x, f32x4_splat(1.44269504f), F32X4_SHIFT), n = shifted - F32X4_SHIFT;
  return f32x4_scale(f32x4_exp_of_rest(f32x4_less_ln2(x, n)), (i32x4)shifted - (i32x4)f32x4_splat(F32X4_SHIFT));
}

/* The same for x ≤ 0 where tiny results do not matter: 0 below -87, where e^x becomes subnormal and many machines slow.
 */
static inline f32x4 f32x4_exp_below_0(f32x4 x) {
  f32x4 above = f32x4_max(f32x4_splat(-87.0f), x); /* NaN stays */
  f32x4 shifted = f32x4_next(above, f32x4_splat(1.44269504f), F32X4_SHIFT + 127), n = shifted - (F32X4_SHIFT + 127);
  f32x4 e = f32x4_exp_of_rest(f32x4_less_ln2(x, n)) * (f32x4)((i32x4)shifted << 23);
  return f32x4_select(x < -87.0f, f32x4_splat(0), e);
}

/* f - f²/2 + f³·p(f) = log(1 + f), plus e·ln 2, for 1 + f in [√½, √2]. */
static inline f32x4 f32x4_log_of_parts(f32x4 f, f32x4 e) {
  f32x4 p = f32x4_next(f32x4_next(f32x4_splat(-0.0763583481f), f, 0.127635598f), f, -0.131604314f);
  p = f32x4_next(f32x4_next(f32x4_next(p, f, 0.14201428f), f, -0.166233107f), f, 0.20001246f);
  p = f32x4_next(f32x4_next(p, f, -0.250008225f), f, 0.333333313f);
  f32x4 square = f * f;
  return (square * f * p + e * -2.12194440e-4f - square * 0.5f + f) + e * 0.693359375f;
}

/* Natural logarithm, 0.9 ulp. x = 2^e·m, m in [√½, √2]. log 0 = -inf, of a negative NaN. */
static inline f32x4 f32x4_log(f32x4 x) {
  f32x4 infinity = f32x4_splat(INFINITY), zero = f32x4_splat(0);
  i32x4 tiny = x < 0x1p-126f;
  i32x4 bits = (i32x4)f32x4_select(tiny, x * 0x1p24f, x);
  i32x4 e = (bits - 0x3f3504f3) >> 23; /* the bits of √½: below it, m takes one more factor of 2 */
  f32x4 m = (f32x4)(bits - (e << 23));
  f32x4 y = f32x4_log_of_parts(m - 1.0f, i32x4_to_f32(e - (tiny & 24)));
  y = f32x4_select(x < infinity, y, x); /* inf and NaN stay */
  y = f32x4_select(x < zero, f32x4_splat(NAN), y);
  return f32x4_select(x == zero, -infinity, y);
}

/* log(1 + u) for u in [0, 1], 1.3 ulp: what 1 + u rounds away comes back as a first-order term. */
static inline f32x4 f32x4_log1p_unit(f32x4 u) {
  f32x4 w = u + 1.0f;
  return f32x4_log(w) + (u - (w - 1.0f)) / w;
}

/* 1 / (1 + e^-x), 2.5 ulp, but 0 below -87; both sides from e^-|x|, so that neither overflows nor cancels. */
static inline f32x4 f32x4_sigmoid(f32x4 x) {
  f32x4 e = f32x4_exp_below_0(-f32x4_abs(x)), one = f32x4_splat(1);
  return f32x4_select(x < f32x4_splat(0), e, one) / (e + one);
}

/* Hyperbolic tangent, 2.5 ulp: m / (m + 2) with m = e^2|x| - 1, and the sign of x. */
static inline f32x4 f32x4_tanh(f32x4 x) {
  f32x4 t = f32x4_min(f32x4_splat(18.5f), f32x4_abs(x) * 2.0f); /* beyond, it rounds to 1; NaN stays */
  f32x4 shifted = f32x4_next(t, f32x4_splat(1.44269504f), F32X4_SHIFT + 127), n = shifted - (F32X4_SHIFT + 127);
  f32x4 power = (f32x4)((i32x4)shifted << 23); /* a power of 2 */
  f32x4 m = f32x4_madd(power, f32x4_expm1_of_rest(f32x4_less_ln2(t, n)), power - 1.0f), y = m / (m + 2.0f);
  return (f32x4)((i32x4)y | ((i32x4)x & INT32_MIN));
}

/* Error function, 1.3 ulp. Near 0 an odd polynomial, else 1 - e^-(a + a·q(a)) with a = |x| and the sign of x. */
static inline f32x4 f32x4_erf(f32x4 x) {
  f32x4 a = f32x4_abs(x), z = x * x;
  f32x4 p = f32x4_next(f32x4_next(f32x4_splat(-0.000592512486f), z, 0.00498068752f), z, -0.0267585646f);
  p = f32x4_next(f32x4_next(f32x4_next(p, z, 0.112816177f), z, -0.376124799f), z, 0.128379151f);
  f32x4 small = f32x4_madd(p, x, x);
  f32x4 t = f32x4_min(f32x4_splat(3.95f), a); /* beyond, erf rounds to 1; NaN stays */
  f32x4 q = f32x4_next(f32x4_next(f32x4_splat(-0.000212918894f), t, 0.00320621021f), t, -0.0228620712f);
  q = f32x4_next(f32x4_next(f32x4_next(q, t, 0.105218589f), t, 0.635750949f), t, 0.128504768f);
  f32x4 large = 1.0f - f32x4_exp_below_0(-f32x4_madd(q, t, t));
  large = (f32x4)((i32x4)large | ((i32x4)x & INT32_MIN));
  return f32x4_select(a < 0.9375f, small, large);
}
