/* Packed: weights that no step changes, in the form that a convolution's or another product reads. They are packed once
 * for all programs of a session.
 *
 *   frozen parameter or initializer ─ pack ─▶ PackedWeights ◀─ Conv, MatMul and Gemm nodes of every program
 */
#pragma once
#include "graph/graph.h"
#include "kernels/conv.h"
#include "kernels/gemm.h"

typedef struct PackedWeights {
  Conv conv; /* whose weights they are, or */
  Gemm gemm; /* whose B, if it has columns */
  const float *w;
  float *data;
  struct PackedWeights *next;
} PackedWeights;

typedef struct PackedStore {
  Arena arena;
  PackedWeights *first;
  size_t bytes;
  bool stale; /* a parameter was written since */
} PackedStore;

/* Lets the convolutions and products of a bound graph read packed weights where these are fixed, packing pays, and they
 * fit in `room` bytes. */
void packed_take(PackedStore *s, Graph *g, double room);
/* Packs again what is stale. */
void packed_refresh(PackedStore *s);
void packed_free(PackedStore *s);
