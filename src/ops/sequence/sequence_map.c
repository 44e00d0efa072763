/* SequenceMap: the nodes of its subgraph once for each item of the first sequence; other inputs are sequences of the
 * same length, or the same each time. */
#include "graph/sequence.h"
#include "graph/subgraph.h"

static Status map_item(const Node *n, const Subgraph *s, Value **slots, int i, Value **out) {
  for (int k = 0; k < s->input_count; k++) {
    Value *from = n->in[k];
    if (!from) return node_invalid(n, "input %d must be there", k);
    if (value_is_sequence(from) && i >= from->item_count)
      return node_invalid(n, "sequence %d is shorter than the first one", k);
    slots[k] = value_is_sequence(from) ? from->items[i] : from;
  }
  TRY(subgraph_inline(n, s, slots));
  for (int k = 0; k < n->out_count; k++) out[k * n->in[0]->item_count + i] = slots[s->outputs[k]];
  return STATUS_OK;
}

static Status sequence_map_expand(Expansion *c) {
  const Node *n = c->node;
  Value **slots;
  TRY(sequence_want(n, 0));
  const Subgraph *s = subgraph_open(n, "body", &slots);
  if (!s) return c->graph->error->status;
  int count = n->in[0]->item_count;
  if (s->input_count != subgraph_own_inputs(n) || s->output_count < n->out_count)
    return node_invalid(n, "its body has %d inputs and %d outputs, it %d and %d", s->input_count, s->output_count,
                        subgraph_own_inputs(n), n->out_count);
  Value **out = ARENA_ARRAY(c->graph->arena, Value *, (size_t)n->out_count * (size_t)count);
  if (!out) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < count; i++) TRY(map_item(n, s, slots, i, out));
  for (int k = 0; k < n->out_count; k++) {
    DType type = count ? out[k * count]->type : s->declared[k].type;
    if (!(c->out[k] = sequence_new(n, type ? type : DTYPE_FLOAT32, out + k * count, count)))
      return STATUS_OUT_OF_MEMORY;
  }
  return STATUS_OK;
}

OPERATOR(sequence_map) = {
    .name = "SequenceMap",
    .since = {17},
    .inputs = {1, -1},
    .outputs = {1, -1},
    .flags = OP_ANY_TYPE | OP_SUBGRAPHS,
    .expand = sequence_map_expand,
};
