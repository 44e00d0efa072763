/* Free batch: a model that was exported for batches of one size takes any. */
#pragma once
#include "graph/graph.h"

typedef enum BatchFreed {
  BATCH_AS_IT_WAS, /* no input has a fixed batch, or the model has no batch at all */
  BATCH_KEPT,      /* `why` is a node that reads examples together, or is not known to keep them apart */
  BATCH_FREED,
  BATCH_BROKEN, /* memory is out, and the model is of no use any more */
} BatchFreed;

/* If all outputs of a model with fixed shapes have the first dim of its inputs, this dim becomes the symbol `batch` and
 * all shapes are inferred again. Numbers that the exporter wrote follow: the shape of a Reshape, a row that is
 * concatenated to each example, the first state of a recurrent layer. If a part of the model cannot follow, nothing is
 * changed. */
BatchFreed batch_free(Graph *g, const Node **why);
