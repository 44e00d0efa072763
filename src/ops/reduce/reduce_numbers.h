/* Reduce numbers: reductions of any type, an element at a time in the widest of its kind; the ways that float32 does
 * not go. */
#pragma once
#include "ops/reduce/reduce.h"

typedef struct ReduceNumbers {
  double first;                            /* what a reduction starts from */
  double (*floats)(double sum, double x);  /* NULL: of no other float but float32 */
  int64_t (*ints)(int64_t sum, int64_t x); /* NULL: of no ints */
} ReduceNumbers;

/* Whether x is of a type that r reduces; float32 always is. */
Status reduce_numbers_check(const Node *n, const ReduceNumbers *r);
/* y = fold of x over the axes of n->params (a Reduce). Of an int, `first` beyond the type's range is its end. */
void reduce_numbers(const Node *n, const ReduceNumbers *r);
