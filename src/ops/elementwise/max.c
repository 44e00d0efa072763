/* Max: the largest of its inputs, with NumPy broadcasting; NaN if one is.  dy goes to the first input that equals y. */
#include "ops/elementwise/arithmetic.h"

/* a unless b is beyond it or NaN. */
static int64_t max_ints(int64_t a, int64_t b) { return b > a ? b : a; }
static double max_floats(double a, double b) { return b > a || b != b ? b : a; }
static uint64_t max_naturals(uint64_t a, uint64_t b) { return b > a ? b : a; }
BROADCAST_ROW_2(max_row, f32x4_select((b > a) | (b != b), b, a))

/* dxi = rest where xi = y, else 0, and the rest goes on: rest0 = dy; the last input takes what is left. */
static Status max_grad(Grad *g) {
  Value *rest = g->dy[0], *zero = emit_float(g->graph, 0);
  int last = g->node->in_count - 1;
  for (int i = 0; i < last; i++) {
    Value *hit = emit(g->graph, "Equal", g->node->in[i], g->node->out[0]);
    if (g->want[i]) g->dx[i] = emit(g->graph, "Where", hit, rest, zero);
    rest = emit(g->graph, "Where", hit, zero, rest);
  }
  g->dx[last] = rest;
  return STATUS_OK;
}

OPERATOR(max) = {
    .name = "Max",
    .since = {1, 6, 8, 12, 13},
    .inputs = {1, -1},
    .in_place = ~0u,
    .flags = OP_FLOAT64,
    .infer = arithmetic_fold_infer,
    .run = arithmetic_fold_run,
    .own = &(const Arithmetic){max_row, max_floats, max_ints, max_naturals},
    .grad = max_grad,
    .cases = CASES({"f32[5]"}, {"f32[2,3] f32[2,3]"}, {"f32[3] f32[2,1] f32[2,3]"}, {"f32[6] f32[]"}),
};
