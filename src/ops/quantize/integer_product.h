/* Integer products: how MatMulInteger and ConvInteger compute in float32 without rounding. */
#pragma once
#include "graph/expansion.h"

/* Parts of the sum of at most 256 products of two numbers in -255 … 255 stay below 2^24, so that float32 holds them
 * exactly. */
enum { EXACT_PRODUCTS = 256 };

/* x less its zero point (NULL: none) in that type; the point is one number, or one for each place of the axis with so
 * many dims after it. */
Value *integer_centered(Expansion *c, Value *x, Value *point, DType type, int axis_from_end);
