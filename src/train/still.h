/* Still: what of a training graph runs as in inference, because what it belongs to does not train. */
#pragma once
#include "graph/graph.h"

/* still[i] of m's nodes. A BatchNormalization whose scale and bias are parameters that do not train; one without
 * such, and a Dropout, where weights come before it of which none trains. `trained`: of m's values. */
Status still_find(const Graph *m, const bool *trained, bool batch_norm, Arena *arena, bool *still);
