/* HardSigmoid: y = alpha·x + beta, cut to 0 … 1.  dx = dy·alpha between, else 0. */
#include "ops/elementwise/arithmetic.h"

typedef struct HardSigmoid {
  float alpha, beta;
} HardSigmoid;

static Status hard_sigmoid_infer(Node *n) {
  HardSigmoid *p = NODE_PARAMS(n, HardSigmoid);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (HardSigmoid){node_float(n, "alpha", 0.2f), node_float(n, "beta", 0.5f)};
  return arithmetic_infer(n);
}

BROADCAST_ROW_1_WITH(hard_sigmoid_row, HardSigmoid p = *(const HardSigmoid *)n->params,
                     f32x4_max(f32x4_splat(0), f32x4_min(f32x4_splat(1), x *p.alpha + p.beta)))

static Status hard_sigmoid_grad(Grad *grad) {
  Graph *g = grad->graph;
  const HardSigmoid *p = grad->node->params;
  Value *y = grad->node->out[0], *zero = emit_float(g, 0);
  Value *inside = emit(g, "And", emit(g, "Greater", y, zero), emit(g, "Less", y, emit_float(g, 1)));
  grad->dx[0] = emit(g, "Where", inside, emit(g, "Mul", grad->dy[0], emit_float(g, p->alpha)), zero);
  return STATUS_OK;
}

OPERATOR(hard_sigmoid) = {
    .name = "HardSigmoid",
    .since = {1, 6, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = hard_sigmoid_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){hard_sigmoid_row},
    .grad = GRADIENT(hard_sigmoid_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-4..4", "alpha=0.5 beta=0.25"}),
};
