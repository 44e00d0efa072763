/* Stages: binds a graph in which shapes depend on computed values (Graph.open).
 *
 *   clone ─▶ open? ─ no ─▶ done
 *     ▲        │ yes: some nodes await contents
 *     └─ pin ◀─┴─ plan and run what computes them
 */
#pragma once
#include "graph/graph.h"

/* As graph_clone, for an open graph: `attach` points the inputs of a stage at what was fed. memory_limit: bytes of a stage's arena, 0 = none. */
typedef struct Stages {
  Graph *graph;
  const Dim *numbers;
  double memory_limit;
  void (*attach)(void *context, Graph *stage);
  void *context;
  bool computed; /* set where contents were: the clone is good for these alone */
} Stages;
Graph *stages_clone(Stages *s, Arena *arena, Error *error, Value *const *wanted, int wanted_count);
