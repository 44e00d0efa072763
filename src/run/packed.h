/* Packed: weights that no step changes, in the form that a convolution's product reads. They are packed once for all
 * programs of a session.
 *
 *   frozen parameter or initializer ─ conv_pack_weights ─▶ PackedWeights ◀─ Conv nodes of every program
 */
#pragma once
#include "graph/graph.h"
#include "kernels/conv.h"

typedef struct PackedWeights {
  Conv conv; /* whose weights they are */
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

/* Lets the convolutions of a bound graph read packed weights where these are fixed, packing pays, and they fit in
 * `room` bytes. */
void packed_take(PackedStore *s, Graph *g, double room);
/* Packs again what is stale. */
void packed_refresh(PackedStore *s);
void packed_free(PackedStore *s);
