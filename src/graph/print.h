/* A node as a line of text; graph.h has the whole graph. */
#pragma once
#include "graph/graph.h"
#include "text_builder.h"

/* Adds what there is to say of an output, after its shape. */
typedef void GraphNote(TextBuilder *p, const Value *v);

/* A line without its end; dims without a number by their names, `?` for one that has none. note: NULL for none. */
void graph_print_node(TextBuilder *p, const Node *n, GraphNote *note);
