/* FakeQuantGrad (com.microsoft): dx = dy where the mask is true, else 0. */
#include "graph/compose.h"

static Status fake_quant_grad_compose(Compose *c) {
  return compose_done(c, emit(c->graph, "Where", c->node->in[1], c->node->in[0], compose_number(c, c->node->in[0], 0)));
}

OPERATOR(fake_quant_grad) = {
    .name = "FakeQuantGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .compose = fake_quant_grad_compose,
    .cases = CASES({"f32[2,3] bool[2,3]"}),
};
