/* Elements: walks an index tensor and the data side by side. */
#include "ops/index/elements.h"

Status elements_infer(Node *n, const Shape *data, int indices, Dim axis) {
  const Shape *at = &n->in[indices]->shape;
  char td[SHAPE_TEXT], ti[SHAPE_TEXT];
  int *p = NODE_PARAMS(n, int);
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_index(n, indices));
  TRY(node_axis(n, axis, data->rank, p));
  bool fits = at->rank == data->rank;
  for (int i = 0; fits && i < at->rank; i++)
    fits = i == *p || !dim_is_number(at->dim[i]) || !dim_is_number(data->dim[i]) || at->dim[i] <= data->dim[i];
  return fits ? STATUS_OK
              : node_invalid(n, "indices %s do not fit data %s along axis %d", shape_print(at, ti),
                             shape_print(data, td), *p);
}

int elements_axis(const Node *n) { return *(const int *)n->params; }

void elements_each(const Node *n, const Shape *data, int indices, ElementsVisit *visit) {
  const Value *at = n->in[indices];
  size_t stride[RANK_MAX], index[RANK_MAX] = {0}, count = shape_elements(&at->shape), line = 0;
  int axis = elements_axis(n);
  shape_strides(data, stride);
  for (size_t i = 0; i < count; i++) {
    int64_t k = index_wrap(index_at(at, i), data->dim[axis]);
    visit(n, i, k < 0 ? -1 : (ptrdiff_t)(line + (size_t)k * stride[axis]));
    for (int d = at->shape.rank - 1; d >= 0; d--) { /* `line` is where the element's own line begins */
      if (d != axis) line += stride[d];
      if (++index[d] < (size_t)at->shape.dim[d]) break;
      if (d != axis) line -= stride[d] * index[d];
      index[d] = 0;
    }
  }
}
