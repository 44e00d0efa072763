/* Quantization: scales and zero points, one for all of x or one for each place of an axis. */
#pragma once
#include "kernels/compose.h"

/* The axis along which scale (input 1) lies; 0 where there is one scale for all of x. */
Status quantization_axis(Compose *c, int *axis);
/* A scale or zero point of one axis, brought to that axis of x; as it is where there is one for all. */
Value *quantization_along(Compose *c, Value *v, int rank, int axis);
