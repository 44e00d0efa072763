/* SequenceAt: the item of a sequence at a position. */
#include "graph/sequence.h"

static Status sequence_at_expand(Expansion *c) {
  const Node *n = c->node;
  int at;
  TRY(sequence_want(n, 0));
  TRY(sequence_position(n, 1, n->in[0]->item_count, n->in[0]->item_count - 1, &at));
  c->out[0] = n->in[0]->items[at];
  return STATUS_OK;
}

OPERATOR(sequence_at) = {
    .name = "SequenceAt",
    .since = {11},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = sequence_at_expand,
};
