/* Nd index: shapes and offsets of the slices that an index tensor names. */
#include "ops/index/nd_index.h"

#include "graph/dims.h"

static Status want(const Node *n, int input, const Shape *wanted) {
  const Shape *came = &n->in[input]->shape;
  char tc[SHAPE_TEXT], tw[SHAPE_TEXT];
  return dims_alike(came, wanted)
           ? STATUS_OK
           : node_invalid(n, "input %d is %s, it must be %s", input, shape_print(came, tc), shape_print(wanted, tw));
}

Status nd_index_infer(Node *n, const Shape *data, int64_t batch_dims, int given, Shape *slices) {
  const Shape *at = &n->in[1]->shape;
  NdIndex *p = NODE_PARAMS(n, NdIndex);
  if (!p) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_index(n, 1));
  if (data->rank < 1 || at->rank < 1) return node_invalid(n, "data and indices must have a dimension at least");
  if (batch_dims < 0 || batch_dims >= at->rank || batch_dims >= data->rank)
    return node_invalid(n, "batch_dims is %lld, data has %d dimensions, indices %d", (long long)batch_dims, data->rank,
                        at->rank);
  Dim depth = at->dim[at->rank - 1];
  int most = at->rank - 1 + data->rank - (int)batch_dims; /* dims of slices of depth 0 */
  if (!dim_is_number(depth) && given) depth = most - n->in[given]->shape.rank;
  else TRY(node_want_number(n, 1, at->rank - 1));
  if (depth < 1 || depth > data->rank - batch_dims)
    return node_invalid(n, "its indices are of %lld numbers, data has %d dimensions after %lld of the batch",
                        (long long)depth, data->rank, (long long)batch_dims);
  for (int i = 0; i < batch_dims; i++)
    if (!dims_meet(data->dim[i], at->dim[i]))
      return node_invalid(n, "dim %d of the batch differs between data and indices", i);
  *p = (NdIndex){(int)batch_dims, (int)depth};
  if (most - depth > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its slices have %d dimensions, we have up to %d", most - p->depth,
                     RANK_MAX);
  *slices = (Shape){0};
  for (int i = 0; i < at->rank - 1; i++) slices->dim[slices->rank++] = at->dim[i];
  for (int i = p->batch_dims + p->depth; i < data->rank; i++) slices->dim[slices->rank++] = data->dim[i];
  return given ? want(n, given, slices) : STATUS_OK;
}

size_t nd_index_rows(const Node *n) {
  const Shape *at = &n->in[1]->shape;
  return shape_span(at, 0, at->rank - 1);
}

size_t nd_index_slice(const Node *n, const Shape *data) {
  const NdIndex *p = n->params;
  return shape_span(data, p->batch_dims + p->depth, data->rank);
}

NdIndexRun nd_index_run(const Node *n, const Shape *data) {
  const NdIndex *p = n->params;
  const Shape *at = &n->in[1]->shape;
  NdIndexRun r = {.indices = n->in[1],
                  .depth = (size_t)p->depth,
                  .per_batch = shape_span(at, p->batch_dims, at->rank - 1),
                  .slice = nd_index_slice(n, data),
                  .batches = p->batch_dims > 0};
  for (int i = 0; i < p->depth; i++) r.dim[i] = data->dim[p->batch_dims + i];
  return r;
}

void nd_index_note(const Node *n, size_t row) {
  NdIndexRun r = nd_index_run(n, &n->in[0]->shape);
  for (size_t i = 0, at = row * r.depth; i < r.depth; i++, at++)
    if (index_wrap(index_at(r.indices, at), r.dim[i]) < 0) return index_note(n, 1, at, r.dim[i]);
}
