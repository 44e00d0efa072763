/* Number: elements of any type, a block at a time, in the widest type of their kind: double for floats, int64 for the
 * rest. */
#pragma once
#include "shape.h"

enum { NUMBERS = 256 };
typedef union Numbers {
  double floats[NUMBERS];
  int64_t ints[NUMBERS]; /* uint64 as the same bits */
} Numbers;

/* Elements at, at + step, … of x; step is 1, or 0 for the same one again. */
void numbers_load(Numbers *to, const void *x, DType type, size_t at, size_t step, size_t count);
/* Stores to elements at … of y. Ints wrap around; a bool is x ≠ 0; floats are truncated towards 0 and limited to the
 * range of the type, and NaN is 0. */
void numbers_store_floats(const Numbers *from, void *y, DType type, size_t at, size_t count);
void numbers_store_ints(const Numbers *from, void *y, DType type, size_t at, size_t count);

int64_t number_cut(double x); /* the same of one number, to int64 */

/* Keys of elements of one kind are in the order of the elements: -0 is equal to 0, and NaN to itself and larger than
 * all else. */
uint64_t number_key_of_any(const void *x, DType type, size_t at);
static inline uint64_t number_key(const void *x, DType type, size_t at) {
  return type == DTYPE_INT64 ? ((const uint64_t *)x)[at] ^ (uint64_t)1 << 63 : number_key_of_any(x, type, at);
}

/* IEEE half precision and bfloat16, rounded to the nearest, ties to even. */
float half_to_float(uint16_t bits);
uint16_t half_of_double(double x);
float bfloat16_to_float(uint16_t bits);
uint16_t bfloat16_of_float(float x);
