/* Cumulative: what CumSum and CumProd share: results that run along an axis. */
#pragma once
#include "graph/dims.h"

typedef struct Cumulative {
  int axis;
  bool exclusive, reverse; /* without the element itself; from the end */
} Cumulative;

/* `count` steps of `inner` elements each, `step` elements apart in the order of running. */
typedef void CumulativeLines(const void *x, void *y, size_t count, size_t inner, ptrdiff_t step, bool exclusive);

/* Defines the lines `name` of elements T: y[k] = y[k-1] ∘ x[k], or ∘ x[k-1] where exclusive; `first` stands before all.
 */
#define CUMULATIVE_LINES(name, T, first, operation)                                                                    \
  static void name(const void *from, void *to, size_t count, size_t inner, ptrdiff_t step, bool exclusive) {           \
    const T *x = from;                                                                                                 \
    T *y = to;                                                                                                         \
    for (size_t i = 0; i < inner && count; i++) y[i] = exclusive ? first : x[i];                                       \
    for (size_t k = 1; k < count; k++, x += step, y += step)                                                           \
      for (size_t i = 0; i < inner; i++)                                                                               \
        y[(ptrdiff_t)i + step] = y[i] operation(exclusive ? x[i] : x[(ptrdiff_t)i + step]);                            \
  }

/* By type; an operator's `own`. */
typedef struct CumulativeOwn {
  CumulativeLines *floats, *doubles, *int64, *int32;
} CumulativeOwn;

/* Input 1 is the axis. */
Status cumulative_infer(Node *n);
void cumulative_run(const Node *n);
/* Of an operator whose axis is the given input: checks it, and fills n->params. */
Status cumulative_params(Node *n, int axis_input);
