/* Second output: adds it to a node's list; the node's own infer gives its type and shape. */
#include "graph/second_output.h"

#include <string.h>

Status second_output_want(Node *n, const char *stem) { return output_want(n, 1, stem); }

Status output_want(Node *n, int i, const char *stem) {
  if (has_out(n, i)) return STATUS_OK;
  Graph *g = n->graph;
  int count = i < n->out_count ? n->out_count : i + 1;
  Value **out = ARENA_ARRAY(g->arena, Value *, count);
  const char *name = arena_print(g->arena, "%s_%s", n->name, stem);
  if (!out || !name || !(name = graph_fresh_name(g, name))) return STATUS_OUT_OF_MEMORY;
  if (n->out_count) memcpy(out, n->out, (size_t)n->out_count * sizeof *out);
  out[i] = graph_value(g, name, DTYPE_NONE, NULL, VALUE_NODE);
  if (!out[i]) return g->error->status;
  out[i]->producer = n;
  n->out = out;
  n->out_count = count;
  return n->op->infer(n);
}
