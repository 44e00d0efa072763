/* Optional: its input, or an empty optional. */
#include "graph/sequence.h"

static Status optional_expand(Expansion *c) {
  if (has_in(c->node, 0)) return c->out[0] = c->node->in[0], STATUS_OK;
  if (!(c->out[0] = sequence_new(c->node, DTYPE_FLOAT32, NULL, 0))) return STATUS_OUT_OF_MEMORY;
  c->out[0]->absent = true;
  return STATUS_OK;
}

OPERATOR(optional) = {
    .name = "Optional",
    .since = {15},
    .inputs = {0, 1},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = optional_expand,
};
