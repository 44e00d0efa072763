/* Nd index: shapes and offsets of the slices that an index tensor names. */
#include "ops/index/nd_index.h"

#include "graph/dims.h"

Status nd_index_infer(Node *n, const Shape *data, int indices, int batch_dims, Shape *slices) {
  const Shape *at = &n->in[indices]->shape;
  NdIndex *p = NODE_PARAMS(n, NdIndex);
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_index(n, indices));
  if (data->rank < 1 || at->rank < 1) return node_invalid(n, "data and indices must have a dimension at least");
  Dim depth = at->dim[at->rank - 1];
  if (!dim_is_number(depth)) return node_await(n, indices, "the last dim of its indices must be a number");
  if (batch_dims < 0 || batch_dims >= at->rank || batch_dims >= data->rank)
    return node_invalid(n, "batch_dims is %d, data has %d dimensions, indices %d", batch_dims, data->rank, at->rank);
  if (depth < 1 || depth > data->rank - batch_dims)
    return node_invalid(n, "its indices are of %lld numbers, data has %d dimensions after %d of the batch",
                        (long long)depth, data->rank, batch_dims);
  for (int i = 0; i < batch_dims; i++)
    if (!dims_meet(data->dim[i], at->dim[i]))
      return node_invalid(n, "dim %d of the batch differs between data and indices", i);
  *p = (NdIndex){batch_dims, (int)depth};
  int kept = batch_dims + p->depth;
  if (at->rank - 1 + data->rank - kept > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its slices have %d dimensions, we have up to %d",
                     at->rank - 1 + data->rank - kept, RANK_MAX);
  *slices = (Shape){0};
  for (int i = 0; i < at->rank - 1; i++) slices->dim[slices->rank++] = at->dim[i];
  for (int i = kept; i < data->rank; i++) slices->dim[slices->rank++] = data->dim[i];
  return STATUS_OK;
}

Status nd_index_want(const Node *n, int input, const Shape *wanted) {
  const Shape *came = &n->in[input]->shape;
  char tc[SHAPE_TEXT], tw[SHAPE_TEXT];
  return dims_alike(came, wanted)
           ? STATUS_OK
           : node_invalid(n, "input %d is %s, it must be %s", input, shape_print(came, tc), shape_print(wanted, tw));
}

size_t nd_index_rows(const Node *n, int indices) {
  const Shape *at = &n->in[indices]->shape;
  return shape_span(at, 0, at->rank - 1);
}

size_t nd_index_slice(const Node *n, const Shape *data) {
  const NdIndex *p = n->params;
  return shape_span(data, p->batch_dims + p->depth, data->rank);
}

NdIndexRun nd_index_run(const Node *n, const Shape *data, int indices) {
  const NdIndex *p = n->params;
  const Shape *at = &n->in[indices]->shape;
  NdIndexRun r = {.indices = n->in[indices],
                  .depth = (size_t)p->depth,
                  .per_batch = shape_span(at, p->batch_dims, at->rank - 1),
                  .slice = nd_index_slice(n, data),
                  .batches = p->batch_dims > 0};
  for (int i = 0; i < p->depth; i++) r.dim[i] = data->dim[p->batch_dims + i];
  return r;
}

void nd_index_note(const Node *n, size_t row) {
  NdIndexRun r = nd_index_run(n, &n->in[0]->shape, 1);
  for (size_t i = 0, at = row * r.depth; i < r.depth; i++, at++)
    if (index_wrap(index_at(r.indices, at), r.dim[i]) < 0) return index_note(n, 1, at, r.dim[i]);
}
