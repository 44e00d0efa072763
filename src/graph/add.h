/* Add: what graph.c offers to add.c, and to nobody else, of how nodes are made. */
#pragma once
#include "graph/graph.h"

Status graph_out_of_memory(Graph *g);
/* A node without outputs, in no list yet; NULL on failure. */
Node *graph_bare_node(Graph *g, const Added *a);
/* Adds the node without its infer, which is deferred until the contents of `needed` are known, or, if that is NULL, an
 * input's type and shape. */
Status graph_defer(Graph *g, const Added *a, Value *needed);
/* These go around an infer or an expansion that may be deferred. begin returns true if an outer one is being tried,
 * too; the result is passed to end, which returns true if it must be deferred. */
bool graph_begin_try(Graph *g);
bool graph_end_try(Graph *g, bool around);
