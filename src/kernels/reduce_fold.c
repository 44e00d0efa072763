/* Reduce fold: walks the rows of x, and y with strides of 0 along the reduced dims. */
#include "kernels/reduce_fold.h"

void reduce_fold(const Shape *shape, unsigned axes, const float *x, const float *center, float *y, FoldRow *row) {
  size_t stride[RANK_MAX], index[RANK_MAX] = {0}, step = 1, at = 0;
  int last = shape->rank - 1;
  if (shape_elements(shape) == 0) return;
  for (int d = last; d >= 0; d--) {
    stride[d] = axes >> d & 1 ? 0 : step;
    if (!(axes >> d & 1)) step *= (size_t)shape->dim[d];
  }
  size_t n = last < 0 ? 1 : (size_t)shape->dim[last];
  for (;; x += n) {
    row(x, center ? center + at : NULL, y + at, last < 0 ? 0 : stride[last], n);
    int d = last - 1;
    for (; d >= 0; d--) {
      at += stride[d];
      if (++index[d] < (size_t)shape->dim[d]) break;
      at -= stride[d] * index[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}
