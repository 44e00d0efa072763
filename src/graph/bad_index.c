/* Bad index: kept in the graph, whose nodes are otherwise constant to a run. */
#include "graph/bad_index.h"

void bad_index_note(const Node *n, int input, size_t at, int64_t least, int64_t most) {
  BadIndex *b = &n->graph->bad_index;
  if (!b->node) *b = (BadIndex){n, input, at, least, most};
}

bool bad_index_none(const Node *n) {
  bool none = !n->graph->bad_index.node;
  n->graph->bad_index.node = NULL;
  return none;
}
