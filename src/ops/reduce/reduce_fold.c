/* Reduce fold: walks the rows of x, and y with strides of 0 along the reduced dims. */
#include "ops/reduce/reduce_fold.h"

#include <math.h>

#include "ops/reduce/reduce.h"

f32x4 reduce_fold_load(const float *x, size_t i, size_t n, float first) {
  f32x4 v = f32x4_splat(first);
  if (n - i >= 4) return f32x4_load(x + i);
  for (size_t k = 0; k < n - i; k++) v[k] = x[i + k];
  return v;
}

void reduce_fold_store(float *y, size_t i, size_t n, f32x4 v) {
  for (size_t k = 0; k < n - i; k++) y[i + k] = v[k];
}

/* Dims of 1 dropped, neighbours of one kind merged, so that rows are long; dim 0 is the innermost. */
typedef struct Folded {
  int rank;
  size_t dim[RANK_MAX + 1], stride[RANK_MAX + 1]; /* sizes and strides of y; 0 along reduced dims */
} Folded;

static Folded folded(const Shape *shape, unsigned axes) {
  Folded f = {.rank = 1, .dim = {1}};
  size_t step = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    size_t size = (size_t)shape->dim[d];
    bool reduced = axes >> d & 1;
    if (size == 1) continue;
    if (f.dim[f.rank - 1] == 1) f.stride[f.rank - 1] = reduced ? 0 : step;
    else if ((f.stride[f.rank - 1] == 0) != reduced) f.dim[f.rank] = 1, f.stride[f.rank++] = reduced ? 0 : step;
    f.dim[f.rank - 1] *= size;
    if (!reduced) step *= size;
  }
  return f;
}

FOLD_ROW(largest, -INFINITY, f32x4_select((b > a) | (b != b), b, a), f32x4_select((b > a) | (b != b), b, a))
void reduce_fold_max(const float *x, const float *center, float *y, size_t step, size_t n) {
  largest(x, center, y, step, n);
}

void reduce_fold(const Shape *shape, unsigned axes, const float *x, const float *center, float *y, FoldRow *row) {
  size_t index[RANK_MAX + 1] = {0}, at = 0;
  if (shape_elements(shape) == 0) return;
  Folded f = folded(shape, axes);
  for (;; x += f.dim[0]) {
    row(x, center ? center + at : NULL, y + at, f.stride[0], f.dim[0]);
    int d = 1;
    for (; d < f.rank; d++) {
      at += f.stride[d];
      if (++index[d] < f.dim[d]) break;
      at -= f.stride[d] * index[d];
      index[d] = 0;
    }
    if (d >= f.rank) return;
  }
}

/* hits = (x = y); dx = hits·dy / Σ hits */
Status reduce_fold_gradient(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  Value *x = n->in[0], *y = n->out[0];
  Value *hits = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)),
                          emit(g, "Equal", x, reduce_sum_gradient(g, n, y)));
  const Reduce *p = n->params;
  int64_t axes[RANK_MAX];
  int count = 0;
  if (!p->known) return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs to know the axes");
  for (int i = 0; i < x->shape.rank; i++)
    if (p->axes >> i & 1) axes[count++] = i;
  AttrList whole = ATTRS(attr_of_int("keepdims", 1), attr_of_int("noop_with_empty_axes", 1));
  Value *shares = emit(g, "Div", hits, emit_with(g, "ReduceSumTraining", whole, hits, emit_ints(g, axes, count)));
  grad->dx[0] = emit(g, "Mul", shares, reduce_sum_gradient(g, n, grad->dy[0]));
  return STATUS_OK;
}
