/* Extreme: what Max, Min, ReduceMax and ReduceMin make of two: b where it is beyond a, or NaN, else a. */
#pragma once
#include "ops/elementwise/arithmetic.h"

/* BEYOND is > or <. */
#define EXTREME(BEYOND)                                                                                                \
  static double extreme_floats(double a, double b) { return b BEYOND a || b != b ? b : a; }                            \
  static int64_t extreme_ints(int64_t a, int64_t b) { return b BEYOND a ? b : a; }                                     \
  static uint64_t extreme_naturals(uint64_t a, uint64_t b) { return b BEYOND a ? b : a; }

/* The gradient of Max and Min. The operand that is `behind` ("Less", "Greater") the other gets nothing, and equal ones
 * get half each. Beside NaN both get all, as in PyTorch's maximum. */
Status extreme_gradient(Grad *grad, const char *behind);
