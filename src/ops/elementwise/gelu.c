/* Gelu: y = x·Φ(x), or its approximation by tanh. ops/elementwise/gelu.h has the formulas.  dx by GeluGrad or
 * FastGeluGrad. */
#include <string.h>

#include "ops/elementwise/gelu.h"

typedef struct Gelu {
  bool fast;
} Gelu;

static Status gelu_infer(Node *n) {
  const char *approximate = node_string(n, "approximate", "none");
  Gelu *p = NODE_PARAMS(n, Gelu);
  if (!p) return STATUS_OUT_OF_MEMORY;
  p->fast = strcmp(approximate, "tanh") == 0;
  if (!p->fast && strcmp(approximate, "none") != 0)
    return node_invalid(n, "approximate is '%.40s', not none or tanh", approximate);
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(gelu_row, f32x4_gelu(x))
BROADCAST_ROW_1(fast_gelu_row, f32x4_fast_gelu(x))

static void gelu_run(const Node *n) { broadcast_run(n, 1, ((const Gelu *)n->params)->fast ? fast_gelu_row : gelu_row); }

static Status gelu_grad(Grad *g) {
  bool fast = ((const Gelu *)g->node->params)->fast;
  g->dx[0] = emit(g->graph, fast ? "FastGeluGrad" : "GeluGrad", g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

OPERATOR(gelu) = {
    .name = "Gelu",
    .since = {20},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = gelu_infer,
    .run = gelu_run,
    .grad = GRADIENT(gelu_grad),
    .cases = CASES({"f32[2,3]", NULL, 20}, {"f32[4,3]:-5..5", "approximate=none", 20},
                   {"f32[4,3]:-5..5", "approximate=tanh", 20}),
};
