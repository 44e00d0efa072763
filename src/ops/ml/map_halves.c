/* Map halves: taken from the sequence that stands for a map. */
#include "ops/ml/map_halves.h"

bool map_is_whole(const Added *a) { return a->in_count == 1; }

Status map_halves(const Expansion *c, Value **keys, Value **values) {
  const Node *n = c->node;
  TRY(sequence_want(n, 0));
  const Value *map = n->in[0];
  if (map->item_count != 2 || map->items[0]->shape.rank != 1 || map->items[1]->shape.rank != 1 ||
      map->items[0]->shape.dim[0] != map->items[1]->shape.dim[0])
    return node_invalid(n, "input 0 ('%.64s') must be a map: its keys and as many values", map->name);
  *keys = map->items[0];
  *values = map->items[1];
  return STATUS_OK;
}
