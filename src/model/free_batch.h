/* Free batch: a model that was exported for batches of one size takes any. */
#pragma once
#include "graph/graph.h"

typedef enum BatchFreed {
  BATCH_AS_IT_WAS, /* no input has a fixed batch, or the model has no batch at all */
  BATCH_KEPT,      /* `why` is a node that reads examples together, or is not known to keep them apart */
  BATCH_FREED,
  BATCH_BROKEN, /* memory is out, and the model is of no use any more */
} BatchFreed;

/* Where the outputs of a model with fixed shapes have the first dim that its inputs have, that becomes the symbol
 * `batch`, all shapes are inferred again, and what an exporter wrote as a number follows: the shape of a
 * Reshape, a row that is concatenated to each example, the first state of a recurrent layer. Unless the model is
 * changed whole it is not changed at all. */
BatchFreed batch_free(Graph *g, const Node **why);
