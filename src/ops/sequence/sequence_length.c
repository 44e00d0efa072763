/* SequenceLength: the number of items of a sequence. */
#include "graph/sequence.h"

static Status sequence_length_expand(Expansion *c) {
  TRY(sequence_want(c->node, 0));
  c->out[0] = emit_int(c->graph, c->node->in[0]->item_count);
  return c->graph->error->status;
}

OPERATOR(sequence_length) = {
    .name = "SequenceLength",
    .since = {11},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = sequence_length_expand,
};
