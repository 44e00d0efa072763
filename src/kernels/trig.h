/* Trig: sine and cosine of four floats. The angle is brought to |r| ≤ π/4 in double, a lane at a time, the rest are
 * short polynomials (Cephes' sinf and cosf): 1e-7 off at most for angles up to 1e8. Beyond 2^30 the angle is first
 * taken modulo 2π as a double has it. */
#pragma once
#include <math.h>

#include "simd.h"

/* x = quadrant·π/2 + r, the quadrant modulo 4. */
static inline f32x4 trig_reduce(f32x4 x, i32x4 *quadrant) {
  f32x4 r;
  for (int k = 0; k < 4; k++) {
    double angle = (double)x[k];
    if (!(fabs(angle) < 0x1p30)) angle = fmod(angle, 6.283185307179586); /* infinity becomes NaN */
    double quarters = nearbyint(angle * 0.6366197723675814);
    r[k] = (float)(angle - quarters * 1.5707963267948966 - quarters * 6.123233995736766e-17);
    (*quadrant)[k] = angle == angle ? (int32_t)quarters & 3 : 0;
  }
  return r;
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
