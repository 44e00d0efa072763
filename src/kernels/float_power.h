/* Float power: IEEE 754's pow, the same bits on every machine. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "simd.h"

float float_power(float x, float e);  /* 0.51 ulp */
f32x4 float_powers(f32x4 x, f32x4 e); /* four powers at once */
/* y[i] = x[i]^e, y may be x: as accurate, but 4.5 ulp where e is a quarter, ±0.25 … ±1.75, as those of LRN are. */
void float_powers_by(float *y, const float *x, float e, size_t count);
bool float_is_whole(float e);
