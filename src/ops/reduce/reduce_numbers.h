/* Reduce numbers: reductions that fold element by element; float32 by rows, any other type in the widest of its kind.
 */
#pragma once
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduce_fold.h"

typedef struct ReduceNumbers {
  double first;                            /* start of a reduction; beyond an int's range it is the range's end */
  FoldRow *row;                            /* float32; NULL: the operator has its own run */
  double (*floats)(double sum, double x);  /* NULL: of no other float but float32 */
  int64_t (*ints)(int64_t sum, int64_t x); /* NULL: of no ints */
  uint64_t (*naturals)(uint64_t sum, uint64_t x); /* uint64 if `ints` does not fit it */
  bool bools;                                     /* since opset 20 */
} ReduceNumbers;

/* Infers by the operator's own ReduceNumbers; the axes are an input since opset 18. */
Status reduce_numbers_infer(Node *n);
void reduce_numbers_run(const Node *n);

/* The types alone: float32 is always reduced. */
Status reduce_numbers_check(const Node *n);
/* y = fold of x over the axes of n->params (a Reduce), of all types but float32. */
void reduce_numbers(const Node *n);
