/* Xor: y is true where a and b differ, for bool, with NumPy broadcasting. */
#include "graph/compose.h"

static Status xor_compose(Compose *c) {
  Value *a = c->node->in[0], *b = c->node->in[1];
  TRY(node_want_type(c->node, 0, DTYPE_BOOL));
  return compose_done(c, emit(c->graph, "Not", emit(c->graph, "Equal", a, b)));
}

OPERATOR(xor) = {
    .name = "Xor",
    .since = {1, 7},
    .inputs = {2, 2},
    .compose = xor_compose,
    .cases = CASES({"v:bool[4]=1,0,1,0 v:bool[4]=1,1,0,0", .no_grad = "bool"},
                   {"v:bool[2,3]=1,0,1,0,1,0 v:bool[3]=0,1,1", .no_grad = "bool"}),
};
