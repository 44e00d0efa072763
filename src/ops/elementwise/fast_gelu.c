/* FastGelu (com.microsoft; X, bias?): gelu by tanh of X, or of X + bias. ops/elementwise/gelu.h has the formula.
 * dX = dy·slope by FastGeluGrad or BiasFastGeluGrad_dX, dbias is its sum. */
#include "ops/elementwise/gelu.h"

static Status fast_gelu_infer(Node *n) {
  Shape y = n->in[0]->shape;
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(node_want_rank(n, 1, 1, 1));
  if (has_in(n, 1)) TRY(node_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &y));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

BROADCAST_ROW_1(fast_gelu_row, f32x4_fast_gelu(x))
BROADCAST_ROW_2_LONG(biased_row, f32x4_fast_gelu(a + b))

static void fast_gelu_run(const Node *n) {
  if (has_in(n, 1)) broadcast_run(n, 2, biased_row);
  else broadcast_run(n, 1, fast_gelu_row);
}

static Status fast_gelu_grad(Grad *g) {
  Node *n = g->node;
  if (has_in(n, 1)) g->dx[0] = g->dx[1] = emit(g->graph, "BiasFastGeluGrad_dX", g->dy[0], n->in[0], n->in[1]);
  else g->dx[0] = emit(g->graph, "FastGeluGrad", g->dy[0], n->in[0]);
  return STATUS_OK;
}

OPERATOR(fast_gelu) = {
    .name = "FastGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 2},
    .biases = 2,
    .in_place = 1,
    .infer = fast_gelu_infer,
    .run = fast_gelu_run,
    .grad = GRADIENT(fast_gelu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,3]:-5..5"}, {"f32[2,3] f32[3]"}, {"f32[2,2,5]:-4..4 f32[5]"}, {"f32[5] -"}),
};
