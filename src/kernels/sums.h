/* Sums: of a row, and over some dims of a tensor. */
#pragma once
#include "shape.h"

/* Σ x: lanes in blocks, blocks in double. */
double reduce_sum_row(const float *x, size_t n);
/* y = Σ x over the dims in `axes` (bit i is dim i); y has the other dims in their order. */
void reduce_sum(const Shape *shape, unsigned axes, const float *x, float *y);
