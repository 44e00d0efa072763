/* Reshape: y is x in the shape that input 1 gives; 0 copies a dim of x (unless allowzero), -1 is what remains.
 * dx = dy in x's shape. */
#include "graph/dims.h"
#include "ops/shape/view.h"
#include "graph/upgrade.h"

/* *dims is NULL when it is known later. */
static Status wanted_dims(const Node *n, const Dim **dims, int *count) {
  TRY(dims_known(n, 1, dims, count));
  if (*count > RANK_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "the shape has %d dimensions, we have up to %d", *count, RANK_MAX);
  return STATUS_OK;
}

static Status check_count(const Node *n, const Shape *x, const Shape *y) {
  size_t from, to;
  char tx[SHAPE_TEXT], ty[SHAPE_TEXT];
  if (!shape_is_concrete(x) || !shape_is_concrete(y) || (shape_count(x, &from) && shape_count(y, &to) && from == to))
    return STATUS_OK;
  return node_invalid(n, "%s cannot take the shape %s: the numbers of elements differ", shape_print(x, tx),
                      shape_print(y, ty));
}

static Status reshape_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  const Dim *dims;
  Shape y = {0};
  bool allowzero = n->version >= 14 && node_int(n, "allowzero", 0);
  int rest = -1;
  TRY(wanted_dims(n, &dims, &y.rank));
  for (int i = 0; i < y.rank; i++) {
    Dim d = dims ? dims[i] : graph_fresh_dim(n->graph);
    if (d == 0 && !allowzero && i >= x->rank)
      return node_invalid(n, "dim %d of the shape copies one that the input lacks", i);
    if (d == -1 && rest >= 0) return node_invalid(n, "the shape has -1 twice");
    if (d == -1) rest = i;
    else if (d < 0 && !dim_is_symbol(d)) return node_invalid(n, "dim %d of the shape is %lld", i, (long long)d);
    y.dim[i] = d == 0 && !allowzero ? x->dim[i] : d;
  }
  if (rest >= 0) {
    Dim others[RANK_MAX];
    int count = 0;
    for (int i = 0; i < y.rank; i++)
      if (i != rest) others[count++] = y.dim[i];
    char text[SHAPE_TEXT];
    if (!dims_divide(n->graph, x->dim, x->rank, others, count, &y.dim[rest]))
      return node_invalid(n, "%s leaves no whole number for the -1 in the shape", shape_print(x, text));
  }
  TRY(check_count(n, x, &y));
  return view_output(n, &y);
}

static Status reshape_upgrade(Upgrade *u) { return upgrade_move(u, "shape", 1, 5), STATUS_OK; }

OPERATOR(reshape) = {
    .name = "Reshape",
    .since = {1, 5, 13, 14, 19, 21},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS | OP_VIEW,
    .infer = reshape_infer,
    .run = view_run,
    .grad = GRADIENT(view_grad),
    .upgrade = reshape_upgrade,
    .cases = CASES({"f32[2,3] i64[2]=3,2"}, {"f32[2,3,4] i64[3]=0,-1,2"}, {"f32[6] i64[3]=1,6,1"},
                   {"f32[2,3] i64[1]=-1"}, {"f32[1] i64[0]="},
                   {"f32[0,3] i64[2]=3,0", "allowzero=1", 14, 0, "nothing is learned from an empty batch"},
                   {"f32[2,3,4] i64[2]=0,-1", NULL, 5}, {"f32[2,3]", "shape=[6,1]", 1}, {"i64[4] i64[2]=2,2"},
                   {"f32[2,0] i64[2]=0,7", "allowzero=1", 14}, {"f32[2,0,3] i64[2]=0,7", "allowzero=1", 14},
                   {"f32[0,0] i64[2]=5,0", "allowzero=1", 14}, {"f32[0,2] i64[2]=7,0", "allowzero=1", 14}),
};
