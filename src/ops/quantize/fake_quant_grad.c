/* FakeQuantGrad (com.microsoft): dx = dy where the mask is true, else 0. */
#include "graph/expansion.h"

static Status fake_quant_grad_expand(Expansion *c) {
  return expand_done(c, emit(c->graph, "Where", c->node->in[1], c->node->in[0], expand_number(c, c->node->in[0], 0)));
}

OPERATOR(fake_quant_grad) = {
    .name = "FakeQuantGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .expand = fake_quant_grad_expand,
    .cases = CASES({"f32[2,3] bool[2,3]"}),
};
