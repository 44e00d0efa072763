/* Dynamic shapes: binds a graph in which shapes depend on computed values (Graph.deferral).
 *
 *   clone ─▶ pending? no ─▶ done
 *     ▲        │ yes: some nodes are deferred
 *     └─ pin ◀─┴─ plan and run what computes them
 *
 * A Loop whose end depends on computed values is run along the way, iteration by iteration, and its outputs are pinned.
 */
#pragma once
#include "graph/graph.h"
#include "threads.h"

typedef struct DynamicShapes {
  void (*attach)(void *context, Graph *stage); /* points the inputs of a stage at what was fed */
  void *context;
  bool computed; /* set if contents were pinned: the clone is valid only for these */
  const ThreadsStop *stop;
  double work_limit, work; /* multiply-adds that the stages may take, and have taken: plan_check_work */
  int inlined;             /* size of all Loops that were run, together: SUBGRAPH_RUN_MAX */
} DynamicShapes;
/* The clone in which nothing is deferred any more, of a clone in which something may be. */
Graph *dynamic_shapes_clone(DynamicShapes *s, Graph *clone, Arena *arena, Error *error);
/* Makes the items of sequences the graph's outputs, and gives the outputs as they were asked for; NULL when memory is
 * out. */
Value **dynamic_shapes_spread(Graph *g);
