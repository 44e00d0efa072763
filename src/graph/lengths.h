/* Lengths: numbers for free lengths of fed vectors (a shape, axes, indices) that only one number fits. */
#pragma once
#include "graph/graph.h"

/* The input whose last dim is a symbol although the operator or the rank of output 0 implies its number; -1: none. */
int lengths_open(const Graph *g, const Added *a);
/* Puts a Reshape to that number before the input. `in`: a->in; `rank`: of output 0, as the file declares it, or -1. */
Status lengths_settle(Graph *g, const Added *a, Value **in, int rank);
