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
    for (size_t k = 1; k < count; k++, x += step, y += step) {                                                         \
      const T *last = y, *more = exclusive ? x : x + step;                                                             \
      T *restrict next = y + step; /* nobody else's */                                                                 \
      for (size_t i = 0; i < inner; i++) next[i] = last[i] operation more[i];                                          \
    }                                                                                                                  \
  }

/* Four lines of floats side by side, line i begins at x + i · apart: the result of one step is what the next one of its
 * line waits for. */
typedef void CumulativeFour(const float *x, float *y, size_t count, size_t apart, ptrdiff_t step, bool exclusive);

#define CUMULATIVE_FOUR(name, first, operation)                                                                        \
  static void name(const float *x, float *y, size_t count, size_t apart, ptrdiff_t step, bool exclusive) {             \
    float a = first, b = first, c = first, d = first;                                                                  \
    if (!exclusive) {                                                                                                  \
      y[0] = a = x[0], y[apart] = b = x[apart], y[2 * apart] = c = x[2 * apart], y[3 * apart] = d = x[3 * apart];      \
      x += step, y += step, count--;                                                                                   \
    }                                                                                                                  \
    for (size_t k = 0; k < count; k++, x += step, y += step) {                                                         \
      float e = a operation x[0], f = b operation x[apart], g = c operation x[2 * apart],                              \
            h = d operation x[3 * apart];                                                                              \
      y[0] = exclusive ? a : e, y[apart] = exclusive ? b : f;                                                          \
      y[2 * apart] = exclusive ? c : g, y[3 * apart] = exclusive ? d : h;                                              \
      a = e, b = f, c = g, d = h;                                                                                      \
    }                                                                                                                  \
  }

/* The code for each type; an operator's `own`. */
typedef struct CumulativeOwn {
  CumulativeLines *floats, *doubles, *int64, *int32;
  CumulativeFour *four;
} CumulativeOwn;

/* Input 1 is the axis. */
Status cumulative_infer(Node *n);
void cumulative_run(const Node *n);
/* For an operator whose axis is the given input: checks it, and fills n->params. */
Status cumulative_params(Node *n, int axis_input);
