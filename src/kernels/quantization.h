/* Quantization: scales and zero points, one for all of x, one for each place of an axis, or one for each block of places. */
#pragma once
#include "kernels/compose.h"

/* The axis along which scale (input 1) lies; 0 where there is one scale for all of x. */
Status quantization_axis(Compose *c, int *axis);
/* A scale or zero point in float32, brought to that axis of x; as it is where there is one for all. */
Value *quantization_along(Compose *c, Value *v, int axis);
