/* Passes: each rewrites a bound graph (every shape a number) into a faster equal one, and is a file. */
#pragma once
#include "graph/graph.h"

/* Computes now what depends on constants only, and makes known shapes constants. */
Status pass_fold(Graph *g);
