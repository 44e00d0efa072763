/* Abs: y = |x|.  dx = dy·sign x. */
#include "kernels/broadcast.h"

static Status abs_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(abs_row, f32x4_abs(x))

static void abs_run(const Node *n) { broadcast_run(n, 1, abs_row); }

static Status abs_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Sign", g->node->in[0]));
  return STATUS_OK;
}

CASES_OF(abs_cases) = {{"f32[2,3]"}, {"f32[4,2]"}, {0}};

const Op op_abs = {
    .name = "Abs",
    .since = {1, 6, 13},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = abs_infer,
    .run = abs_run,
    .grad = abs_grad,
    .cases = CASES(abs_cases),
};
