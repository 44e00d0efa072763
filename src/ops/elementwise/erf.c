/* Erf: y = 2/√π ∫₀ˣ e^-t² dt.  dx = dy·2/√π·e^-x². */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(erf_row, f32x4_erf(x))

static Status erf_grad(Grad *g) {
  Value *x = g->node->in[0];
  Value *bell = emit(g->graph, "Exp", emit(g->graph, "Neg", emit(g->graph, "Mul", x, x)));
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Mul", bell, emit_float(g->graph, 1.12837917f)));
  return STATUS_OK;
}

OPERATOR(erf) = {
    .name = "Erf",
    .since = {9, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){erf_row},
    .grad = GRADIENT(erf_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-5..5"}),
};
