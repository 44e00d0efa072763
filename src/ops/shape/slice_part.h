/* Slice: which part of each dim a Slice or SliceGrad takes. */
#pragma once
#include "kernels/strided.h"
#include "graph/op.h"

typedef struct Slice {
  Shape shape; /* shape of the part */
  int64_t start[RANK_MAX], step[RANK_MAX];
} Slice;

/* Reads starts, ends, axes?, steps? from the inputs at `first` on. */
Status slice_read(Node *n, int first, const Shape *whole, Slice *out);

/* The layout of the part in the whole: `at` is the element it begins with, the dims step through the part (to) and the
 * whole (from). */
Strided slice_layout(const Slice *s, const Shape *whole, ptrdiff_t *at);
