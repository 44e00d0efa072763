/* Trig: angles of any size. */
#include "kernels/trig.h"

#include <math.h>

f32x4 trig_reduce_far(f32x4 x, i32x4 *quadrant) {
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
