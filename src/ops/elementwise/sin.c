/* Sin: y = sin x.  dx = dy·cos x. */
#include "ops/elementwise/arithmetic.h"
#include "kernels/trig.h"

BROADCAST_ROW_1(sin_row, f32x4_sin(x))

static Status sin_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Cos", g->node->in[0]));
  return STATUS_OK;
}

OPERATOR(sin) = {
    .name = "Sin",
    .since = {7, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){sin_row},
    .grad = GRADIENT(sin_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[40]:-9..9"},
                   {"f32[7]:-1000..1000", .no_grad = "a difference of 1e-3 drowns in the angle"}),
};
