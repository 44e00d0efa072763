/* YieldOp (com.microsoft): the forward pass ends here. Inputs are the model's outputs; outputs are the gradients that
 * come for them from outside, for all but the non_differentiable_outputs. Between the two the session hands out the one
 * and takes the other (src/session/external_loss.h), so there is nothing to run. */
#include "ops/control/yield.h"
#include "graph/op.h"

bool yield_takes_gradient(const Node *n, int input) {
  int count;
  const int64_t *without = node_ints(n, "non_differentiable_outputs", &count);
  for (int i = 0; i < count; i++)
    if (without[i] == input) return false;
  return true;
}

static Status yield_infer(Node *n) {
  int at = 0;
  for (int i = 0; i < n->in_count; i++) {
    if (!has_in(n, i) || n->in[i]->type == DTYPE_STRING || !dtype_bytes(n->in[i]->type))
      return node_invalid(n, "input %d must be a tensor of numbers", i);
    if (!yield_takes_gradient(n, i)) continue;
    if (at == n->out_count) return node_invalid(n, "has %d outputs, more of its inputs want a gradient", n->out_count);
    TRY(node_output(n, at++, n->in[i]->type, &n->in[i]->shape));
  }
  return at == n->out_count ? STATUS_OK
                            : node_invalid(n, "has %d outputs, %d of its inputs want a gradient", n->out_count, at);
}

static void yield_run(const Node *n) { (void)n; }

OPERATOR(yield) = {
    .name = "YieldOp",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, -1},
    .outputs = {1, -1},
    .flags = OP_RANDOM | OP_ANY_TYPE | OP_OURS, /* YieldOp's outputs are no function of its inputs */
    .infer = yield_infer,
    .run = yield_run,
};
