/* Bernoulli: 1 with probability x, else 0. */
#include "graph/expansion.h"

static Status bernoulli_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  const Attr *seed = node_attr(c->node, "seed", ATTR_FLOAT);
  AttrList attrs = seed ? ATTRS(*seed) : NO_ATTRS;
  Value *y = emit(g, "Less",
                  expand_cast(c, emit_with(g, "RandomUniformLike", attrs, expand_cast(c, x, DTYPE_FLOAT32)), x->type),
                  x);
  return expand_done(c, expand_cast(c, y, (DType)node_int(c->node, "dtype", x->type)));
}

OPERATOR(bernoulli) = {
    .name = "Bernoulli",
    .since = {15, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = bernoulli_expand,
    .cases = CASES({"v:f32[4]=0,1,1,0", .no_grad = "a draw"}),
};
