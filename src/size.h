/* Sizes: the smaller and the larger of two, how many parts make a whole, and sums and products that may overflow. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

static inline size_t size_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t size_max(size_t a, size_t b) { return a > b ? a : b; }
/* Parts of `each`, of which the last may be smaller. */
static inline size_t ceil_div(size_t count, size_t each) { return (count + each - 1) / each; }

/* a × b and a + b for sizes; false on overflow of size_t. */
static inline bool size_multiply(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool size_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
