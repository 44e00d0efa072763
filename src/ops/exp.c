/* Exp: y = e^x.  dx = dy·y. */
#include "kernels/broadcast.h"

static Status exp_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(exp_row, f32x4_exp(x))

static void exp_run(const Node *n) { broadcast_run(n, 1, exp_row); }

static Status exp_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

CASES_OF(exp_cases) = {{"f32[2,3]"}, {"f32[4,2]:-20..4"}, {0}};

const Op op_exp = {
    .name = "Exp",
    .since = {1, 6, 13},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = exp_infer,
    .run = exp_run,
    .grad = exp_grad,
    .cases = CASES(exp_cases),
};
