/* GatherElementsGrad (com.microsoft; dY, shape, indices): zeros of the shape, to which dY is added where GatherElements
 * took it. */
#include <string.h>

#include "graph/dims.h"
#include "ops/index/elements.h"
#include "graph/same_shape.h"

static Status gather_elements_grad_infer(Node *n) {
  const Dim *dims;
  Shape dx = {0};
  TRY(node_want_float(n, 0));
  TRY(dims_known(n, 1, &dims, &dx.rank));
  if (dx.rank > RANK_MAX) return node_invalid(n, "the shape has %d dimensions, we have up to %d", dx.rank, RANK_MAX);
  for (int i = 0; i < dx.rank; i++) {
    dx.dim[i] = dims ? dims[i] : graph_fresh_dim(n->graph);
    if (!dim_is_number(dx.dim[i]) && !dim_is_symbol(dx.dim[i]))
      return node_invalid(n, "dim %d of the shape is negative", i);
  }
  TRY(same_shape_want(n, 0, 2));
  TRY(elements_infer(n, &dx, 2, node_int(n, "axis", 0)));
  return node_output(n, 0, DTYPE_FLOAT32, &dx);
}

static void add(const Node *n, const ElementsRun *run) {
  const ElementsRun r = *run;
  const float *dy = in_f32(n, 0) + r.from;
  float *dx = out_f32(n, 0);
  for (size_t i = 0; i < r.count; i++) {
    ptrdiff_t at = elements_at(&r, i);
    if (at >= 0) dx[at] += dy[i];
  }
}

static void gather_elements_grad_run(const Node *n) {
  if (out_count(n, 0)) memset(n->out[0]->data, 0, out_count(n, 0) * sizeof(float));
  elements_each(n, &n->out[0]->shape, 2, add);
}

OPERATOR(gather_elements_grad) = {
    .name = "GatherElementsGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 3},
    .infer = gather_elements_grad_infer,
    .run = gather_elements_grad_run,
    .cases = CASES({"f32[2,4] i64[2]=3,4 v:i64[2,4]=0,1,2,0,-1,1,1,2"},
                   {"f32[3,2] i64[2]=3,4 v:i64[3,2]=0,3,2,9,1,1", "axis=1"}),
};
