/* Tiny floats: those of 8 bits and of 4, an element a byte.
 *
 *                 sign  exponent  fraction  bias   not finite
 *   float8e4m3fn     1         4         3     7   NaN: all ones
 *   float8e4m3fnuz   1         4         3     8   NaN: -0
 *   float8e5m2       1         5         2    15   as float16
 *   float8e5m2fnuz   1         5         2    16   NaN: -0
 *   float8e8m0       0         8         0   127   NaN: all ones; it has no 0
 *   float4e2m1       1         2         1     1   none: NaN becomes -0
 */
#pragma once
#include "shape.h"

typedef enum TinyRounding { TINY_NEAREST, TINY_UP, TINY_DOWN } TinyRounding; /* away from 0, towards it */

static inline bool tiny_is(DType type) {
  return (type >= DTYPE_FLOAT8E4M3FN && type <= DTYPE_FLOAT8E5M2FNUZ) || type == DTYPE_FLOAT4E2M1 ||
         type == DTYPE_FLOAT8E8M0;
}
double tiny_to_double(uint8_t bits, DType type);
/* To the nearest, ties to even, but for float8e8m0, which is rounded as asked. Beyond the largest: that one where it
 * saturates, else infinity or NaN as the type has them. */
uint8_t tiny_of_double(double x, DType type, bool saturate, TinyRounding rounding);
