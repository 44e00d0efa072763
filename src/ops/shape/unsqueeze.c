/* Unsqueeze: puts dims of 1 at the named axes of the output.  dx = dy in x's shape. */
#include "graph/dims.h"
#include "ops/shape/view.h"
#include "graph/upgrade.h"

static Status unsqueeze_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  const Dim *axes;
  int count;
  TRY(node_known(n, 1, &axes, &count));
  if (x->rank + count > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its output has %d dimensions, we have up to %d", x->rank + count,
                     RANK_MAX);
  Shape y = {.rank = x->rank + count};
  unsigned ones;
  TRY(dims_axes(n, axes, count, y.rank, &ones));
  for (int i = 0, from = 0; i < y.rank; i++) y.dim[i] = ones >> i & 1 ? 1 : x->dim[from++];
  return view_output(n, &y);
}

static Status unsqueeze_upgrade(Upgrade *u) { return upgrade_move(u, "axes", 1, 13), STATUS_OK; }

OPERATOR(unsqueeze) = {
    .name = "Unsqueeze",
    .since = {1, 11, 13, 21},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_VIEW,
    .infer = unsqueeze_infer,
    .run = view_run,
    .grad = GRADIENT(view_grad),
    .upgrade = unsqueeze_upgrade,
    .cases = CASES({"f32[2,3] i64[1]=1"}, {"f32[2,3] i64[2]=0,-1"}, {"f32[] i64[1]=0"}, {"f32[2,3]", "axes=[0,3]", 11},
                   {"i64[] i64[1]=0"}),
};
