/* IsNaN: y is true where x is not a number: x ≠ x. */
#include "graph/compose.h"

static Status is_nan_compose(Compose *c) {
  Value *x = c->node->in[0];
  return compose_done(c, emit(c->graph, "Not", emit(c->graph, "Equal", x, x)));
}

OPERATOR(is_nan) = {
    .name = "IsNaN",
    .since = {9, 13, 20},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = is_nan_compose,
    .cases = CASES({"v:f32[4]=nan,0,inf,-1", .no_grad = "bool"}),
};
