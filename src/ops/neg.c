/* Neg: y = -x.  dx = -dy. */
#include "kernels/broadcast.h"

static Status neg_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(neg_row, -x)

static void neg_run(const Node *n) { broadcast_run(n, 1, neg_row); }

static Status neg_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Neg", g->dy[0]);
  return STATUS_OK;
}

CASES_OF(neg_cases) = {{"f32[2,3]"}, {"f32[4,2]"}, {0}};

const Op op_neg = {
    .name = "Neg",
    .since = {1, 6, 13},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = neg_infer,
    .run = neg_run,
    .grad = neg_grad,
    .cases = CASES(neg_cases),
};
