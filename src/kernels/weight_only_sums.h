/* Sums of rows: a few rows times bytes, whose rows are added up, both as whole numbers. */
#pragma once
#include "kernels/weight_only.h"

/* The scratch of weight_only_sums_begin in bytes; false if its size overflows. */
bool weight_only_sums_bytes(const WeightOnly *w, size_t rows, size_t *bytes);
/* A in whole numbers, into scratch. */
void weight_only_sums_begin(const WeightOnly *w, size_t rows, const float *a, void *scratch);
/* c += a · w of columns n … n + count, a multiple of 16, of which c has rows of `stride`; rows · count is at most
 * 4,096. */
void weight_only_sums_add(const WeightOnly *w, size_t rows, const void *scratch, size_t n, size_t count, float *c,
                          size_t stride);
