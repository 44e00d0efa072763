/* Reduce fold: a result over some dims that is taken element by element, as a maximum is; sums have reduce.h. */
#pragma once
#include "graph/op.h"
#include "simd.h"

/* One row of n: y[i·step] = y[i·step] ∘ x[i]; step 1, or 0, which folds the whole row into *y. `center` lies as y does,
 * or is NULL. */
typedef void FoldRow(const float *x, const float *center, float *y, size_t step, size_t n);

/* Floats i … of the n, behind them `first`. */
f32x4 reduce_fold_load(const float *x, size_t i, size_t n, float first);
/* The store of as many. */
void reduce_fold_store(float *y, size_t i, size_t n, f32x4 v);

/* Defines the row `name`: y[i·step] = TAKE of the four floats a, which are y's, and the four floats b, which are x's.
 * FIRST changes nothing, whichever of the two it is. Within a row four of fours are taken side by side; JOIN of a and
 * b makes one of two of them. */
#define FOLD_ROW(name, FIRST, TAKE, JOIN)                                                                              \
  static inline f32x4 name##_take(f32x4 a, f32x4 b) { return TAKE; }                                                   \
  static inline f32x4 name##_join(f32x4 a, f32x4 b) { return JOIN; }                                                   \
  static void name(const float *x, const float *center, float *y, size_t step, size_t n) {                             \
    size_t i = 0;                                                                                                      \
    if (step) {                                                                                                        \
      for (; i + 4 <= n; i += 4) f32x4_store(y + i, name##_take(f32x4_load(y + i), f32x4_load(x + i)));                \
      if (i < n)                                                                                                       \
        reduce_fold_store(y, i, n, name##_take(reduce_fold_load(y, i, n, FIRST), reduce_fold_load(x, i, n, FIRST)));   \
      return;                                                                                                          \
    }                                                                                                                  \
    f32x4 a = f32x4_splat(FIRST), b = a, c = a, d = a;                                                                 \
    for (; i + 16 <= n; i += 16) {                                                                                     \
      a = name##_take(a, f32x4_load(x + i)), b = name##_take(b, f32x4_load(x + i + 4));                                \
      c = name##_take(c, f32x4_load(x + i + 8)), d = name##_take(d, f32x4_load(x + i + 12));                           \
    }                                                                                                                  \
    for (; i < n; i += 4) a = name##_take(a, reduce_fold_load(x, i, n, FIRST));                                        \
    a = name##_join(name##_join(a, b), name##_join(c, d));                                                             \
    a = name##_join(a, __builtin_shufflevector(a, a, 2, 3, 0, 1));                                                     \
    a = name##_join(a, __builtin_shufflevector(a, a, 1, 0, 3, 2));                                                     \
    *y = name##_join(f32x4_splat(*y), a)[0];                                                                           \
  }

FoldRow reduce_fold_max; /* NaN if one is */

/* y, which holds start values, over the dims in `axes`; y has the other dims in their order. */
void reduce_fold(const Shape *shape, unsigned axes, const float *x, const float *center, float *y, FoldRow *row);

/* The gradient of ReduceMax and ReduceMin: dy goes to the elements where x = y, in equal shares. */
Status reduce_fold_gradient(Grad *grad);
