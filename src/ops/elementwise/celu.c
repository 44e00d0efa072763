/* Celu: y = x where x > 0, else alpha·(e^(x/alpha) - 1).  dx = dy where x > 0, else dy·(y / alpha + 1). */
#include "ops/elementwise/arithmetic.h"

typedef struct Celu {
  float alpha;
} Celu;

static Status celu_infer(Node *n) {
  Celu *p = NODE_PARAMS(n, Celu);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (Celu){node_float(n, "alpha", 1)};
  return arithmetic_infer(n);
}

BROADCAST_ROW_1(celu_row, f32x4_select(x > f32x4_splat(0), x,
                                       (f32x4_exp(x / ((const Celu *)n->params)->alpha) - 1.0f) *
                                           ((const Celu *)n->params)->alpha))

static Status celu_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *y = grad->node->out[0], *dy = grad->dy[0];
  Value *ratio = emit(g, "Mul", y, emit_float(g, 1 / ((const Celu *)grad->node->params)->alpha));
  Value *below = emit(g, "Mul", dy, emit(g, "Add", ratio, emit_float(g, 1)));
  grad->dx[0] = emit(g, "Where", emit(g, "Greater", x, emit_float(g, 0)), dy, below);
  return STATUS_OK;
}

OPERATOR(celu) = {
    .name = "Celu",
    .since = {12},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = celu_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){celu_row},
    .grad = celu_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[7]:-4..4", "alpha=0.5"}),
};
