/* Upgrade: what files of opsets before 13 say becomes what opset 13 says, so that nothing after the reader knows two forms of an operator. */
#pragma once
#include "graph/graph.h"

enum { OPSET_MIN = 13 }; /* of every graph */

/* `a` as a file of g->file_opset has it; what it points to from then on is the graph's. */
Status upgrade(Graph *g, Added *a);
