/* Dot products: a few rows times numbers of 4 or 8 bits, which lie in rows as well, both as whole numbers. */
#pragma once
#include "kernels/weight_only.h"

enum { WEIGHT_ONLY_UNIT = 32 }; /* numbers of A to a scale: a block of W is some of these */

bool weight_only_dots_fits(const WeightOnly *w);
/* The scratch of weight_only_dots_run, which computes the same as weight_only_run; false if its size overflows. */
bool weight_only_dots_bytes(const WeightOnly *w, size_t rows, size_t *bytes);
void weight_only_dots_run(const WeightOnly *w, size_t rows, const float *a, const float *d, float *c, void *scratch);

/* Thirty-two numbers of A in 16 bits: a(k) = number(k) · what it gives, NaN where not all are finite; and their sum.
 * Number k is at k, or at k / 4 + k % 4 · apart. */
float weight_only_whole(const float *a, size_t apart, int16_t *numbers, int32_t *sum);
