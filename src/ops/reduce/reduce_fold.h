/* Reduce fold: a result over some dims that is taken element by element, as a maximum is; sums have reduce.h. */
#pragma once
#include "graph/op.h"

/* One row of n: y[i·step] = y[i·step] ∘ x[i]; step 0 folds the whole row into *y. `center` lies as y does, or is NULL.
 */
typedef void FoldRow(const float *x, const float *center, float *y, size_t step, size_t n);

/* Defines the row `name`: y[i·step] = EXPR of a, which is y[i·step], and b, which is x[i]. */
#define FOLD_ROW(name, EXPR)                                                                                           \
  static void name(const float *x, const float *center, float *y, size_t step, size_t n) {                             \
    for (size_t i = 0; i < n; i++) {                                                                                   \
      float a = y[i * step], b = x[i];                                                                                 \
      y[i * step] = EXPR;                                                                                              \
    }                                                                                                                  \
  }

/* y, which holds start values, over the dims in `axes`; y has the other dims in their order. */
void reduce_fold(const Shape *shape, unsigned axes, const float *x, const float *center, float *y, FoldRow *row);

/* Of ReduceMax and ReduceMin: dy goes to where x = y, in equal shares. */
Status reduce_fold_gradient(Grad *grad);
