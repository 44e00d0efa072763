/* Narrow sums: a few rows times bytes, whose rows are added up, both as whole numbers. */
#pragma once
#include "kernels/narrow.h"

/* The scratch of narrow_sums_begin in bytes; false if its size overflows. */
bool narrow_sums_bytes(const Narrow *w, size_t rows, size_t *bytes);
/* A in whole numbers, into scratch. */
void narrow_sums_begin(const Narrow *w, size_t rows, const float *a, void *scratch);
/* c += a · w of columns n … n + count, a multiple of 16, of which c has rows of `stride`; rows · count is at most
 * 4,096. */
void narrow_sums_add(const Narrow *w, size_t rows, const void *scratch, size_t n, size_t count, float *c,
                     size_t stride);
