/* Select: the best of many places, in order. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* True if place a comes before place b; no two places are equal. */
typedef bool SelectBefore(const void *context, size_t a, size_t b);
/* The places of a heap one by one, the one first that comes last: begun once, then taken as often as is wanted, each
 * time from one place less. */
void select_heap(size_t *order, size_t count, SelectBefore *before, const void *context);
size_t select_take(size_t *order, size_t count, SelectBefore *before, const void *context);
/* Sets order[0 … k-1] to the k places of 0 … count-1 that come before all others, sorted. */
void select_best(size_t *order, size_t k, size_t count, SelectBefore *before, const void *context);
/* About the logarithm of count to base 2: comparisons are as many for each that is held against the others. */
int select_levels(double count);
