/* Untie: parameters that an exporter made one because they began equal, and a copy of each for its own reader.
 *
 *   'onnx::Add_30' ─▶ Add                               'onnx::Add_30' ─▶ Add
 *              └─ Identity 'onnx::Add_32' ─▶ Add    '/Add_1.bias' ─ Identity ─▶ Add */
#pragma once
#include "train/weights.h"

typedef struct Shared {
  int copies;           /* that untying makes */
  const Value *example; /* the first parameter that is so shared */
  int readers;          /* readers that read it as the last of them does */
  ReadAs as;
} Shared;

/* Finds the `trained` parameters that untying without traces would separate. */
Shared untie_find(Graph *m, const Weights *w, const bool *trained);
/* Separates them in the model itself: running statistics, where `traces`, those for which an Identity stands, and where
 * `all`, the others; w is to be read again after it. */
Status untie(Graph *m, const Weights *w, bool traces, bool all);
