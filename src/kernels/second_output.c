/* Second output: added to a node's list, its type and shape by the node's own infer. */
#include "kernels/second_output.h"

Status second_output_want(Node *n, const char *stem) {
  if (has_out(n, 1)) return STATUS_OK;
  Graph *g = n->graph;
  Value **out = ARENA_ARRAY(g->arena, Value *, 2);
  const char *name = arena_print(g->arena, "%s_%s", n->name, stem);
  if (!out || !name || !(name = graph_fresh_name(g, name))) return STATUS_OUT_OF_MEMORY;
  out[0] = n->out_count ? n->out[0] : NULL;
  out[1] = graph_value(g, name, DTYPE_NONE, NULL, VALUE_NODE);
  if (!out[1]) return g->error->status;
  out[1]->producer = n;
  n->out = out;
  n->out_count = 2;
  return n->op->infer(n);
}
