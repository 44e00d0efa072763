/* ConcatFromSequence: the items of a sequence side by side along an axis, or along a new one. */
#include "graph/sequence.h"
#include "graph/subgraph.h"

static Status concat_from_sequence_expand(Expansion *c) {
  const Node *n = c->node;
  TRY(sequence_want(n, 0));
  const Value *s = n->in[0];
  const Attr *axis = node_attr(n, "axis", ATTR_INT);
  if (!axis) return node_invalid(n, "its attribute 'axis' must be there");
  if (!s->item_count) return node_invalid(n, "the sequence is empty");
  if (node_int(n, "new_axis", 0)) c->out[0] = subgraph_stack(c->graph, NULL, s->items, s->item_count, axis->i);
  else c->out[0] = emit_first(c->graph, "Concat", ATTRS(attr_of_int("axis", axis->i)), s->items, s->item_count);
  return c->graph->error->status;
}

OPERATOR(concat_from_sequence) = {
    .name = "ConcatFromSequence",
    .since = {11},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = concat_from_sequence_expand,
};
