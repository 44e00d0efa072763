/* LeakyRelu: y = x where x > 0, else alpha·x.  dx = dy where x > 0, else alpha·dy. */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1_WITH(leaky_relu_row, float alpha = arithmetic_alpha(n), f32x4_select(x > f32x4_splat(0), x, x *alpha))

/* y has x's sign unless alpha < 0; then the gradient looks at x itself. */
static Status leaky_relu_grad(Grad *g) {
  Node *n = g->node;
  float alpha = arithmetic_alpha(n);
  g->dx[0] = emit_with(g->graph, "LeakyReluGrad", ATTRS(attr_of_float("alpha", alpha)), g->dy[0],
                       alpha < 0 ? n->in[0] : n->out[0]);
  return STATUS_OK;
}

OPERATOR(leaky_relu) = {
    .name = "LeakyRelu",
    .since = {1, 6, 16},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_alpha_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){leaky_relu_row, .alpha = 0.01f},
    .grad = GRADIENT(leaky_relu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[5]", "alpha=0.3"}, {"f32[5]", "alpha=-0.3"}, {"f32[5]", "alpha=0.0"},
                   {"v:f32[3]=0,-1,2", "alpha=0.3", .kink = true}),
};
