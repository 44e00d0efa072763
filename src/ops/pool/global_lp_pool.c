/* GlobalLpPool: y = (Σ |x|^p)^(1/p) over each plane. */
#include "graph/expansion.h"
#include "graph/upgrade.h"
#include "kernels/number.h"

static Status global_lp_pool_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int64_t axes[RANK_MAX];
  int count = 0;
  for (int i = 2; i < x->shape.rank; i++) axes[count++] = i;
  double p = (double)node_int(c->node, "p", 2);
  if (p < 1 || !count) return node_invalid(c->node, "p must be 1 or more, and there must be spatial dimensions");
  Value *sum = expand_reduce(c, "ReduceSum", emit(g, "Pow", emit(g, "Abs", x), expand_number(c, x, p)), axes, count,
                             true);
  return expand_done(c, emit(g, "Pow", sum, expand_number(c, x, 1 / p)));
}

/* In opset 1, p was a float. */
static Status global_lp_pool_upgrade(Upgrade *u) {
  for (int i = 0; i < u->node->attr_count; i++)
    if (u->attrs[i].kind == ATTR_FLOAT) u->attrs[i] = attr_of_int(u->attrs[i].name, number_cut(u->attrs[i].f));
  return STATUS_OK;
}

OPERATOR(global_lp_pool) = {
    .name = "GlobalLpPool",
    .since = {1, 2, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = global_lp_pool_expand,
    .upgrade = global_lp_pool_upgrade,
    .cases = CASES({"f32[2,3,2,3]"}, {"f32[2,3,4]", "p=3"}, {"f32[1,2,3]", "p=3.0", 1}),
};
