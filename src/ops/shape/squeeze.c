/* Squeeze: drops dims of 1, those named or all.  dx = dy in x's shape. */
#include "graph/dims.h"
#include "ops/shape/view.h"
#include "graph/upgrade.h"

static Status squeeze_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  const Dim *axes = NULL;
  int count = -1; /* none are named */
  unsigned drop = 0;
  if (has_in(n, 1)) TRY(node_known(n, 1, &axes, &count));
  if (count >= 0) TRY(dims_axes(n, axes, count, x->rank, &drop));
  Shape y = {0};
  for (int i = 0; i < x->rank; i++) {
    bool one = x->dim[i] == 1 || (count >= 0 && !dim_is_number(x->dim[i])); /* a symbol that is named will be 1 */
    if (count < 0 && one) continue;
    if (!(drop >> i & 1)) y.dim[y.rank++] = x->dim[i];
    else if (!one) return node_invalid(n, "dim %d is %lld, only a 1 can be dropped", i, (long long)x->dim[i]);
  }
  return view_output(n, &y);
}

static Status squeeze_upgrade(Upgrade *u) { return upgrade_move(u, "axes", 1, 13), STATUS_OK; }

OPERATOR(squeeze) = {
    .name = "Squeeze",
    .since = {1, 11, 13, 21},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_VIEW,
    .infer = squeeze_infer,
    .run = view_run,
    .grad = GRADIENT(view_grad),
    .upgrade = squeeze_upgrade,
    .cases = CASES({"f32[2,1,3,1] i64[1]=1"}, {"f32[2,1,3,1] i64[2]=-1,1"}, {"f32[2,1,3,1]"},
                   {"f32[2,1,3,1]", "axes=[1,3]", 11}, {"f32[2,1,3,1]", NULL, 1}, {"i64[1] i64[1]=0"}),
};
