/* Xor: y is true where a and b differ, for bool, with NumPy broadcasting. */
#include "graph/compose.h"

static Status xor_compose(Compose *c) {
  Value *a = c->node->in[0], *b = c->node->in[1];
  TRY(node_want_type(c->node, 0, DTYPE_BOOL));
  return compose_done(c, emit(c->graph, "Not", emit(c->graph, "Equal", a, b)));
}

CASES_OF(xor_cases) = {{"v:bool[4]=1,0,1,0 v:bool[4]=1,1,0,0", .no_grad = "bool"},
                       {"v:bool[2,3]=1,0,1,0,1,0 v:bool[3]=0,1,1", .no_grad = "bool"},
                       {0}};

OPERATOR(xor) = {
    .name = "Xor",
    .since = {1, 7},
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .compose = xor_compose,
    .cases = CASES(xor_cases),
};
