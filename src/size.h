/* Sizes: the smaller and the larger of two, and how many parts make a whole. */
#pragma once
#include <stddef.h>

static inline size_t size_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t size_max(size_t a, size_t b) { return a > b ? a : b; }
/* Parts of `each`, of which the last may be smaller. */
static inline size_t ceil_div(size_t count, size_t each) { return (count + each - 1) / each; }
