/* Bernoulli: 1 with probability x, else 0. */
#include "graph/compose.h"

static Status bernoulli_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  const Attr *seed = node_attr(c->node, "seed", ATTR_FLOAT);
  AttrList attrs = seed ? ATTRS(*seed) : NO_ATTRS;
  Value *y = emit(g, "Less",
                  compose_cast(c, emit_with(g, "RandomUniformLike", attrs, compose_cast(c, x, DTYPE_FLOAT32)), x->type),
                  x);
  return compose_done(c, compose_cast(c, y, (DType)node_int(c->node, "dtype", x->type)));
}

OPERATOR(bernoulli) = {
    .name = "Bernoulli",
    .since = {15, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = bernoulli_compose,
    .cases = CASES({"v:f32[4]=0,1,1,0", .no_grad = "a draw"}),
};
