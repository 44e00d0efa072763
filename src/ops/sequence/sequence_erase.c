/* SequenceErase: a sequence without the item at a position, by default the last one. */
#include "graph/sequence.h"

static Status sequence_erase_expand(Expansion *c) {
  const Node *n = c->node;
  int at;
  TRY(sequence_want(n, 0));
  const Value *s = n->in[0];
  TRY(sequence_position(n, 1, s->item_count, s->item_count - 1, &at));
  Value **items = ARENA_ARRAY(c->graph->arena, Value *, s->item_count);
  if (!items) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < s->item_count - 1; i++) items[i] = s->items[i + (i >= at)];
  c->out[0] = sequence_new(n, s->type, items, s->item_count - 1);
  return c->out[0] ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

OPERATOR(sequence_erase) = {
    .name = "SequenceErase",
    .since = {11},
    .inputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = sequence_erase_expand,
};
