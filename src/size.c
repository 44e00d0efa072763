/* Sums and products of sizes, which may overflow. */
#include "size.h"

bool size_multiply(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }

bool size_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
