/* Log: y = ln x.  dx = dy / x. */
#include "kernels/broadcast.h"

static Status log_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(log_row, f32x4_log(x))

static void log_run(const Node *n) { broadcast_run(n, 1, log_row); }

static Status log_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Div", g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

CASES_OF(log_cases) = {{"f32[2,3]:0.1..2"}, {"f32[4,2]:1..1000"}, {0}};

const Op op_log = {
    .name = "Log",
    .since = {1, 6, 13},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = log_infer,
    .run = log_run,
    .grad = log_grad,
    .cases = CASES(log_cases),
};
