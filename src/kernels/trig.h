/* Trig: sine and cosine of four floats. The angle is brought to |r| ≤ π/4 in double, the rest are short polynomials
 * (Cephes' sinf and cosf): 1e-7 off at most for angles up to 1e8. Beyond 2^30 the angle is first taken modulo 2π as a
 * double has it. */
#pragma once
#include "simd.h"

/* Two angles up to 2^30; the number of quarters is in the last bits of the shifted sum. */
static inline f64x2 trig_rest(f64x2 angle, f64x2 *shifted) {
  *shifted = angle * 0.6366197723675814 + 0x1.8p52;
  f64x2 quarters = *shifted - 0x1.8p52;
  return angle - quarters * 1.5707963267948966 - quarters * 6.123233995736766e-17;
}

/* The same of any angles, a lane at a time. */
f32x4 trig_reduce_far(f32x4 x, i32x4 *quadrant);

/* x = quadrant·π/2 + r, the quadrant modulo 4. */
static inline f32x4 trig_reduce(f32x4 x, i32x4 *quadrant) {
  if (i32x4_any(~(f32x4_abs(x) < 0x1p30f))) return trig_reduce_far(x, quadrant);
  f64x2 low, high, r = trig_rest(f32x4_low(x), &low), s = trig_rest(f32x4_high(x), &high);
  *quadrant = __builtin_shufflevector((i32x4)low, (i32x4)high, 0, 2, 4, 6) & 3;
  return f32x4_of_halves(r, s);
}

static inline f32x4 trig_of(f32x4 r, i32x4 quadrant) {
  f32x4 z = r * r;
  f32x4 sine = ((z * -1.9515295891e-4f + 8.3321608736e-3f) * z + -1.6666654611e-1f) * z * r + r;
  f32x4 cosine = ((z * 2.443315711809948e-5f + -1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - z * 0.5f +
                 1.0f;
  f32x4 y = f32x4_select((quadrant & 1) != 0, cosine, sine);
  return f32x4_select((quadrant & 2) != 0, -y, y);
}

static inline f32x4 f32x4_sin(f32x4 x) {
  i32x4 quadrant;
  f32x4 r = trig_reduce(x, &quadrant);
  return trig_of(r, quadrant);
}
static inline f32x4 f32x4_cos(f32x4 x) {
  i32x4 quadrant;
  f32x4 r = trig_reduce(x, &quadrant);
  return trig_of(r, quadrant + 1);
}
