/* QuickGelu (com.microsoft): y = x / (1 + e^(-alpha·x)); SiLU where alpha is 1.  dx = dy·slope by QuickGeluGrad. */
#include "ops/elementwise/gelu.h"

BROADCAST_ROW_1(quick_gelu_row, f32x4_quick_gelu(x, arithmetic_alpha(n)))

static Status quick_gelu_grad(Grad *g) {
  AttrList alpha = ATTRS(attr_of_float("alpha", arithmetic_alpha(g->node)));
  g->dx[0] = emit_with(g->graph, "QuickGeluGrad", alpha, g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

OPERATOR(quick_gelu) = {
    .name = "QuickGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_alpha_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){quick_gelu_row, .alpha = 1.702f},
    .grad = GRADIENT(quick_gelu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[5,3]:-5..5", "alpha=1.0"}, {"f32[5]", "alpha=-0.5"}),
};
