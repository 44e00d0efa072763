/* Select: the best of many places, in order. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Whether place a comes before place b; no two places are equal. */
typedef bool SelectBefore(const void *context, size_t a, size_t b);
/* Sets order[0 … k-1] to the k places of 0 … count-1 that come before all others, sorted. */
void select_best(size_t *order, size_t k, size_t count, SelectBefore *before, const void *context);

/* About the logarithm of count to base 2: comparisons are as many for each that is held against the others. */
int select_levels(double count);
