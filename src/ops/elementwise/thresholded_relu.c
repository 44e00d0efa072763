/* ThresholdedRelu: y = x where x > alpha, else 0.  dx = dy where x > alpha, else 0. */
#include "graph/expansion.h"
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1_WITH(thresholded_relu_row, float alpha = arithmetic_alpha(n),
                     (f32x4)((i32x4)x &(x > f32x4_splat(alpha))))

static Status thresholded_relu_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *above = emit(g, "Greater", grad->node->in[0], emit_float(g, arithmetic_alpha(grad->node)));
  grad->dx[0] = emit(g, "Where", above, grad->dy[0], emit_float(g, 0));
  return STATUS_OK;
}

static Status thresholded_relu_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *alpha = expand_number(c, x, (double)node_float(c->node, "alpha", 1));
  return expand_done(c, emit(g, "Where", emit(g, "Greater", x, alpha), x, expand_number(c, x, 0)));
}

OPERATOR(thresholded_relu) = {
    .name = "ThresholdedRelu",
    .since = {10, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .in_place = 1,
    .infer = arithmetic_alpha_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){thresholded_relu_row, .alpha = 1},
    .grad = GRADIENT(thresholded_relu_grad),
    .expands = arithmetic_expands,
    .expand = thresholded_relu_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5", "alpha=2.5"}, {"f64[5]:-5..5"}),
};
