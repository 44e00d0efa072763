/* Untie: parameters that an exporter made one because they began equal, and a copy of each for its own reader.
 *
 *   'norm1.weight' ─▶ Mul            'norm1.weight' ─▶ Mul
 *              └─ Identity ─▶ Mul    'norm2.weight' ─▶ Mul */
#pragma once
#include "train/weights.h"

typedef struct Shared {
  int copies;           /* that untying makes */
  const Value *example; /* the first parameter that is so shared */
  int readers;          /* of it, as what it is read by the last of them */
  ReadAs as;
} Shared;

/* What untying would separate of those parameters that are `trained`. */
Shared untie_find(const Graph *m, const Weights *w, const bool *trained);
/* Separates them in the model itself, all kinds or running statistics alone; w is to be read again after it. */
Status untie(Graph *m, const Weights *w, bool all_kinds);
