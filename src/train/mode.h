/* Mode: copies an inference model into a graph for training or for evaluation. */
#pragma once
#include "graph/graph.h"

/* True if input i of n is a running statistic: 3 and 4 of a BatchNormalization. */
bool mode_is_statistic(const Node *n, int i);
/* Marks the values of model `m` that are such: never trained by gradient. */
void mode_mark_statistics(Graph *m);

/* Notes the BatchNormalizations in inference mode of a model that was exported in training mode, as others or a Dropout
 * show. */
Status mode_note_eval(Graph *m);

/* True if `v` of a model becomes a VALUE_STATE: a float32 or quantized initializer whose contents decide no shape. */
bool mode_is_parameter(const Value *v);

/* A new graph in `arena`: the model's inputs, then each parameter as a VALUE_STATE input, then its nodes. Those in
 * training: BatchNormalization uses and updates batch statistics (com.microsoft BatchNormInternal), Dropout drops. The
 * others are in inference mode, whatever the model said. No outputs yet. `copy` of each value of m points into the new
 * graph. eval_mode: of m's nodes, those of a training graph that are in eval mode; NULL: all are. */
Graph *mode_copy(Graph *m, const bool *eval_mode, Arena *arena, Error *error);
