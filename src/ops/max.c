/* Max: the largest of its inputs, with NumPy broadcasting; NaN if one is.  dy goes to the first input that equals y. */
#include "kernels/broadcast.h"

/* a unless b is beyond it or NaN. */
BROADCAST_ROW_2(max_row, f32x4_select((b > a) | (b != b), b, a))

static void max_run(const Node *n) { broadcast_fold_run(n, max_row); }

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

CASES_OF(max_cases) = {{"f32[5]"}, {"f32[2,3] f32[2,3]"}, {"f32[3] f32[2,1] f32[2,3]"}, {"f32[6] f32[]"}, {0}};

const Op op_max = {
    .name = "Max",
    .since = {6, 8, 12, 13},
    .min_in = 1, .max_in = -1, .min_out = 1, .max_out = 1,
    .in_place = ~0u,
    .infer = broadcast_fold_infer,
    .run = max_run,
    .grad = max_grad,
    .cases = CASES(max_cases),
};
