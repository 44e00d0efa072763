/* SequenceConstruct: its inputs as a sequence. */
#include "graph/sequence.h"

static Status sequence_construct_expand(Expansion *c) {
  const Node *n = c->node;
  for (int i = 1; i < n->in_count; i++)
    if (n->in[0] && n->in[i] && n->in[i]->type != n->in[0]->type)
      return node_invalid(n, "inputs 0 and %d are of different types", i);
  c->out[0] = sequence_new(n, n->in[0] ? n->in[0]->type : DTYPE_NONE, n->in, n->in_count);
  return c->out[0] ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

OPERATOR(sequence_construct) = {
    .name = "SequenceConstruct",
    .since = {11},
    .inputs = {1, -1},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = sequence_construct_expand,
};
