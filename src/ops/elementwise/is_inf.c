/* IsInf: y is true where x is infinite, of the signs that detect_positive and detect_negative name. */
#include <math.h>

#include "graph/compose.h"

static Status is_inf_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  bool high = node_int(c->node, "detect_positive", 1) != 0, low = node_int(c->node, "detect_negative", 1) != 0;
  Value *infinity = compose_number(c, x, INFINITY), *tested = high && low ? emit(g, "Abs", x)
                                                            : low         ? emit(g, "Neg", x)
                                                                          : x;
  Value *y = emit(g, "Equal", tested, infinity);
  return compose_done(c, high || low ? y : emit(g, "And", y, emit(g, "Not", y)));
}

OPERATOR(is_inf) = {
    .name = "IsInf",
    .since = {10, 20},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .compose = is_inf_compose,
    .cases = CASES({"v:f32[4]=nan,0,inf,-inf", .no_grad = "bool"},
                   {"v:f32[4]=nan,0,inf,-inf", "detect_negative=0", .no_grad = "bool"},
                   {"v:f32[4]=nan,0,inf,-inf", "detect_positive=0", .no_grad = "bool"}),
};
