/* Reduce fold: walks the rows of x, and y with strides of 0 along the reduced dims. */
#include "ops/reduce/reduce_fold.h"

#include "ops/reduce/reduce.h"

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
