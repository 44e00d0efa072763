/* GatherNDGrad (com.microsoft; shape, indices, dY): zeros of the shape, to which dY's slices are added where GatherND
 * took them. */
#include <string.h>

#include "graph/dims.h"
#include "kernels/rows.h"
#include "ops/index/nd_index.h"

static Status gather_nd_grad_infer(Node *n) {
  const Dim *dims;
  Shape dx = {0}, slices;
  TRY(node_want_float(n, 2));
  TRY(dims_known(n, 0, &dims, &dx.rank));
  if (dx.rank > RANK_MAX) return node_invalid(n, "the shape has %d dimensions, we have up to %d", dx.rank, RANK_MAX);
  for (int i = 0; i < dx.rank; i++) {
    dx.dim[i] = dims ? dims[i] : graph_fresh_dim(n->graph);
    if (!dim_is_number(dx.dim[i]) && !dim_is_symbol(dx.dim[i]))
      return node_invalid(n, "dim %d of the shape is negative", i);
  }
  TRY(nd_index_infer(n, &dx, node_int(n, "batch_dims", 0), 2, &slices));
  return node_output(n, 0, DTYPE_FLOAT32, &dx);
}

static void gather_nd_grad_run(const Node *n) {
  const Shape *x = &n->out[0]->shape;
  size_t rows = nd_index_rows(n), slice = nd_index_slice(n, x);
  NdIndexRun run = nd_index_run(n, x);
  const float *dy = in_f32(n, 2);
  float *dx = out_f32(n, 0);
  if (out_count(n, 0)) memset(dx, 0, out_count(n, 0) * sizeof *dx);
  for (size_t r = 0; r < rows && slice; r++, dy += slice) {
    ptrdiff_t at = nd_index_at(&run, r);
    if (at >= 0) row_add(dx + at, dy, slice);
  }
}

OPERATOR(gather_nd_grad) = {
    .name = "GatherNDGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 3},
    .flags = OP_OURS, /* without a kernel for the CPU there */
    .infer = gather_nd_grad_infer,
    .run = gather_nd_grad_run,
    .cases = CASES({"i64[2]=3,4 v:i64[3,1]=0,2,0 f32[3,4]"},
                   {"i64[3]=2,3,4 v:i64[2,1]=1,5 f32[2,4]", "batch_dims=1"}), /* out of range: left out */
};
