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

void elements_note(const Node *n, int indices, const ElementsRun *r, size_t i) {
  index_note(n, indices, r->from + i, r->size);
}

void elements_each(const Node *n, const Shape *data, int indices, ElementsLine *visit) {
  const Value *at = n->in[indices];
  const Shape *shape = &at->shape;
  size_t stride[RANK_MAX], index[RANK_MAX] = {0}, count = shape_elements(shape);
  int axis = elements_axis(n), last = shape->rank - 1;
  shape_strides(data, stride);
  ElementsRun run = {
      .count = (size_t)shape->dim[last], .step = last == axis ? 0 : 1, .stride = stride[axis], .size = data->dim[axis]};
  for (; run.from < count; run.from += run.count) {
    if (at->type == DTYPE_INT64) run.wide = (const int64_t *)at->data + run.from;
    else run.narrow = (const int32_t *)at->data + run.from;
    visit(n, &run);
    for (int d = last - 1; d >= 0; d--) {
      if (d != axis) run.line += stride[d];
      if (++index[d] < (size_t)shape->dim[d]) break;
      if (d != axis) run.line -= stride[d] * index[d];
      index[d] = 0;
    }
  }
}
