/* Sequences: made, checked, and their positions read. */
#include "graph/sequence.h"

#include "graph/subgraph.h"

#include <string.h>

Value *sequence_new(const Node *n, DType type, Value *const *items, int count) {
  Graph *g = n->graph;
  if (count > SEQUENCE_MAX)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "the sequence has %d items, we have up to %d", count, SEQUENCE_MAX),
           NULL;
  for (int i = 0; i < count; i++) {
    if (!items[i]) return node_invalid(n, "item %d of the sequence is absent", i), NULL;
    if (value_is_sequence(items[i]))
      return node_fail(n, STATUS_UNSUPPORTED_OP, "item %d of the sequence is a sequence itself", i), NULL;
  }
  const char *name = subgraph_name(n, "sequence");
  Value **copy = ARENA_ARRAY(g->arena, Value *, count),
        *v = name ? graph_value(g, name, type, NULL, VALUE_SEQUENCE) : NULL;
  if (!copy || !v) return NULL;
  if (count) memcpy(copy, items, (size_t)count * sizeof *copy);
  v->items = copy;
  v->item_count = count;
  return v;
}

Status sequence_want(const Node *n, int input) {
  if (!has_in(n, input)) return node_invalid(n, "input %d must be there", input);
  if (!value_is_sequence(n->in[input]))
    return node_invalid(n, "input %d ('%.64s') is a tensor, it must be a sequence", input, n->in[input]->name);
  if (n->in[input]->absent)
    return node_invalid(n, "input %d ('%.64s') is an optional without an element", input, n->in[input]->name);
  return STATUS_OK;
}

Status sequence_position(const Node *n, int input, int end, int last, int *out) {
  const Dim *position;
  int count;
  *out = last;
  if (!has_in(n, input)) return last < 0 ? node_invalid(n, "the sequence is empty") : STATUS_OK;
  TRY(node_known(n, input, &position, &count));
  if (count != 1) return node_invalid(n, "the position must be one element, it has %d", count);
  int64_t at = *position < 0 ? *position + end : *position;
  if (dim_is_symbol(*position) || at < 0 || at > last)
    return node_invalid(n, "position %lld is outside of a sequence of %d", (long long)*position, end);
  *out = (int)at;
  return STATUS_OK;
}
