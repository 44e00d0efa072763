/* Softsign: y = x / (1 + |x|).  dx = dy / (1 + |x|)². */
#include "graph/expansion.h"
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(softsign_row, x / (f32x4_abs(x) + 1.0f))

static Status softsign_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *bottom = emit(g, "Add", emit(g, "Abs", grad->node->in[0]), emit_float(g, 1));
  grad->dx[0] = emit(g, "Div", emit(g, "Div", grad->dy[0], bottom), bottom);
  return STATUS_OK;
}

static Status softsign_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  return expand_done(c, emit(g, "Div", x, emit(g, "Add", emit(g, "Abs", x), expand_number(c, x, 1))));
}

OPERATOR(softsign) = {
    .name = "Softsign",
    .since = {1, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){softsign_row},
    .grad = GRADIENT(softsign_grad),
    .expands = arithmetic_expands,
    .expand = softsign_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5"}, {"f64[5]:-5..5"}),
};
