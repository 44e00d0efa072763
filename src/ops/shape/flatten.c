/* Flatten: x (d₀, …) as a matrix (d₀ ⋯ d_{axis-1}, d_axis ⋯).  dx = dy in x's shape. */
#include "graph/dims.h"
#include "ops/shape/view.h"

static Status flatten_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  int64_t axis = node_int(n, "axis", 1);
  if (axis < -x->rank || axis > x->rank)
    return node_invalid(n, "axis %lld is outside of %d dimensions", (long long)axis, x->rank);
  int split = (int)(axis < 0 ? axis + x->rank : axis);
  Shape y = {.rank = 2};
  if (!dims_divide(n->graph, x->dim, split, NULL, 0, &y.dim[0]) ||
      !dims_divide(n->graph, x->dim + split, x->rank - split, NULL, 0, &y.dim[1]))
    return node_invalid(n, "its output is too large");
  return view_output(n, &y);
}

OPERATOR(flatten) = {
    .name = "Flatten",
    .since = {1, 9, 11, 13, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_VIEW,
    .infer = flatten_infer,
    .run = view_run,
    .grad = GRADIENT(view_grad),
    .cases = CASES({"f32[2,3,4]"}, {"f32[2,3,4]", "axis=2"}, {"f32[2,3,4]", "axis=0"}, {"f32[2,3,4]", "axis=3"},
                   {"f32[2,3,4]", "axis=-1"}),
};
