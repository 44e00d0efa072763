/* Expand: x repeated to the shape that it and input 1 give by broadcasting.  dx = dy, summed by backward where x was
 * repeated. */
#include "graph/dims.h"
#include "kernels/strided.h"

static Status expand_infer(Node *n) {
  const Value *x = n->in[0];
  const Dim *dims;
  Shape wanted = {0}, y;
  TRY(dims_known(n, 1, &dims, &wanted.rank));
  if (wanted.rank > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "the shape has %d dimensions, we have up to %d", wanted.rank, RANK_MAX);
  for (int i = 0; i < wanted.rank; i++) {
    wanted.dim[i] = dims ? dims[i] : graph_fresh_dim(n->graph);
    if (!dim_is_number(wanted.dim[i]) && !dim_is_symbol(wanted.dim[i]))
      return node_invalid(n, "dim %d of the shape is %lld", i, (long long)wanted.dim[i]);
  }
  TRY(node_broadcast(n, &x->shape, &wanted, &y));
  TRY(node_output(n, 0, x->type, &y));
  size_t count;
  Dim repeated[64];
  if (!x->known || in_count(n, 0) != 1 || !shape_count(&y, &count) || count > 64) return STATUS_OK;
  for (size_t i = 0; i < count; i++) repeated[i] = x->known[0];
  node_output_known(n, 0, repeated, (int)count);
  return STATUS_OK;
}

static void expand_run(const Node *n) {
  const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
  size_t from[RANK_MAX], to[RANK_MAX];
  shape_strides(x, from);
  shape_strides(y, to);
  Strided s = {.rank = y->rank};
  for (int i = 0; i < y->rank; i++) {
    int k = i - (y->rank - x->rank);
    bool repeats = k < 0 || x->dim[k] != y->dim[i];
    s.dim[i] = (StridedDim){(size_t)y->dim[i], (ptrdiff_t)to[i], repeats ? 0 : (ptrdiff_t)from[k]};
  }
  strided_copy(n->out[0]->data, n->in[0]->data, s, dtype_bytes(n->out[0]->type));
}

static Status expand_grad(Grad *g) {
  g->dx[0] = g->dy[0];
  return STATUS_OK;
}

OPERATOR(expand) = {
    .name = "Expand",
    .since = {8, 13},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_REPEATS,
    .infer = expand_infer,
    .run = expand_run,
    .grad = GRADIENT(expand_grad),
    .cases = CASES({"f32[3,1] i64[3]=2,1,4"}, {"f32[2,3] i64[2]=1,1"}, {"f32[] i64[2]=2,3"}, {"f32[1,3] i64[2]=4,3"},
                   {"i64[1] i64[1]=3"}, {"bool[2,1] i64[2]=2,3"}, {"f32[1] i64[1]=0"}),
};
