/* GatherGrad (com.microsoft; shape, indices, dY): zeros of the shape, to which dY's rows are added where Gather took
 * them. Its own gradient is Gather. */
#include <string.h>

#include "graph/dims.h"
#include "kernels/rows.h"
#include "ops/index/index.h"

static Status gather_grad_infer(Node *n) {
  const Shape *indices = &n->in[1]->shape, *dy = &n->in[2]->shape;
  const Dim *dims;
  Shape dx = {0};
  int *axis = NODE_PARAMS(n, int);
  if (!axis) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_index(n, 1));
  TRY(node_want_float(n, 2));
  TRY(dims_known(n, 0, &dims, &dx.rank));
  if (dx.rank > RANK_MAX || dx.rank - 1 + indices->rank != dy->rank)
    return node_invalid(n, "dY has %d dimensions, a shape of %d and indices of %d were given", dy->rank, dx.rank,
                        indices->rank);
  TRY(node_axis(n, node_int(n, "axis", 0), dx.rank, axis));
  for (int i = 0; i < dx.rank; i++) {
    dx.dim[i] = dims ? dims[i] : graph_fresh_dim(n->graph);
    int at = i < *axis ? i : i + indices->rank - 1;
    bool fits = i == *axis || dy->dim[at] == dx.dim[i] || !dim_is_number(dy->dim[at]) || !dim_is_number(dx.dim[i]);
    if (!fits || (!dim_is_number(dx.dim[i]) && !dim_is_symbol(dx.dim[i])))
      return node_invalid(n, "dim %d of the shape does not fit dY", i);
  }
  for (int i = 0; i < indices->rank; i++) {
    Dim a = indices->dim[i], b = dy->dim[*axis + i];
    if (a != b && dim_is_number(a) && dim_is_number(b)) return node_invalid(n, "the indices do not fit dY");
  }
  return node_output(n, 0, DTYPE_FLOAT32, &dx);
}

static void gather_grad_run(const Node *n) {
  const Value *indices = n->in[1];
  const Shape *x = &n->out[0]->shape;
  int axis = *(const int *)n->params;
  size_t count = in_count(n, 1), outer = shape_span(x, 0, axis), inner = shape_span(x, axis + 1, x->rank);
  size_t dim = (size_t)x->dim[axis];
  const float *from = in_f32(n, 2);
  float *to = out_f32(n, 0);
  if (out_count(n, 0)) memset(to, 0, out_count(n, 0) * sizeof *to);
  for (size_t o = 0; o < outer; o++, to += dim * inner) {
    for (size_t i = 0; i < count; i++, from += inner) {
      int64_t row = index_wrap(index_at(indices, i), (int64_t)dim);
      if (row >= 0) row_add(to + (size_t)row * inner, from, inner);
    }
  }
}

static Status gather_grad_grad(Grad *g) {
  g->dx[2] = emit_with(g->graph, "Gather", ATTRS(attr_of_int("axis", *(const int *)g->node->params)), g->dy[0],
                       g->node->in[1]);
  return STATUS_OK;
}

OPERATOR(gather_grad) = {
    .name = "GatherGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 3},
    .infer = gather_grad_infer,
    .run = gather_grad_run,
    .grad = GRADIENT(gather_grad_grad),
    .cases = CASES({"i64[2]=5,3 v:i64[2,2]=0,4,4,-1 f32[2,2,3]"}, {"i64[3]=2,5,6 v:i32[2]=1,-5 f32[2,2,6]", "axis=1"},
                   {"i64[2]=3,2 v:i64[]=1 f32[2]"},
                   {"i64[2]=3,2 v:i64[2]=3,1 f32[2,2]", .no_grad = "a row out of range is left out"}),
};
