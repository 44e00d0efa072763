/* Selu: y = gamma·x where x > 0, else gamma·alpha·(e^x - 1).  dx = dy·gamma where x > 0, else dy·(y + gamma·alpha). */
#include "ops/elementwise/arithmetic.h"

typedef struct Selu {
  float alpha, gamma;
} Selu;

static Status selu_infer(Node *n) {
  Selu *p = NODE_PARAMS(n, Selu);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (Selu){node_float(n, "alpha", 1.67326319f), node_float(n, "gamma", 1.05070102f)};
  return arithmetic_infer(n);
}

BROADCAST_ROW_1(selu_row,
                f32x4_select(x > f32x4_splat(0), x, (f32x4_exp(x) - 1.0f) * ((const Selu *)n->params)->alpha) *
                    ((const Selu *)n->params)->gamma)

static Status selu_grad(Grad *grad) {
  Graph *g = grad->graph;
  const Selu *p = grad->node->params;
  Value *x = grad->node->in[0], *y = grad->node->out[0], *dy = grad->dy[0];
  Value *slope = emit(g, "Where", emit(g, "Greater", x, emit_float(g, 0)), emit_float(g, p->gamma),
                      emit(g, "Add", y, emit_float(g, p->alpha * p->gamma)));
  grad->dx[0] = emit(g, "Mul", dy, slope);
  return STATUS_OK;
}

OPERATOR(selu) = {
    .name = "Selu",
    .since = {1, 6, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = selu_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){selu_row},
    .grad = GRADIENT(selu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[7]:-4..4", "alpha=0.5 gamma=2.0"}, {"v:f32[3]=0,-1,2", .kink = true}),
};
