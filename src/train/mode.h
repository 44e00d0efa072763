/* Mode: copies an inference model into a graph for training or for evaluation. */
#pragma once
#include "graph/graph.h"

/* Marks the values of model `m` that are running statistics (inputs 3 and 4 of a BatchNormalization): never trained by
 * gradient. */
void mode_mark_statistics(Graph *m);

/* Whether `v` of a model becomes a VALUE_STATE: a float32 initializer on whose contents no shape rests. */
bool mode_is_parameter(const Value *v);

/* A new graph in `arena`: the model's inputs, then each parameter as a VALUE_STATE input, then its nodes. Training:
 * BatchNormalization uses and updates batch statistics (com.microsoft BatchNormInternal), Dropout drops. Otherwise both
 * are in inference mode, whatever the model said. No outputs yet. `twin` of each value of m points into the new graph.
 */
Graph *mode_copy(Graph *m, bool training, Arena *arena, Error *error);
