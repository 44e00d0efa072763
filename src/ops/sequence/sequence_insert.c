/* SequenceInsert: a sequence with a tensor put in at a position, by default at its end. */
#include "graph/sequence.h"

static Status sequence_insert_expand(Expansion *c) {
  const Node *n = c->node;
  int at;
  TRY(sequence_want(n, 0));
  const Value *s = n->in[0];
  TRY(sequence_position(n, 2, s->item_count, s->item_count, &at));
  if (!value_is_sequence(n->in[1]) && n->in[1]->type != s->type)
    return node_invalid(n, "a tensor of %s does not go into a sequence of %s", dtype_name(n->in[1]->type),
                        dtype_name(s->type));
  Value **items = ARENA_ARRAY(c->graph->arena, Value *, s->item_count + 1);
  if (!items) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i <= s->item_count; i++) items[i] = i == at ? n->in[1] : s->items[i - (i > at)];
  c->out[0] = sequence_new(n, s->type, items, s->item_count + 1);
  return c->out[0] ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

OPERATOR(sequence_insert) = {
    .name = "SequenceInsert",
    .since = {11},
    .inputs = {2, 3},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = sequence_insert_expand,
};
