/* Rotary: rotates pairs of a head's numbers by an angle that grows with the token's position, as both RotaryEmbeddings
 * do.
 */
#pragma once
#include "graph/expansion.h"

typedef struct Rotary {
  int64_t width;    /* numbers of a head that are rotated; the others stay as they are. 0: all; a symbol: for each
                       angle two */
  bool interleaved; /* a pair are neighbours; else one is half the width away from the other */
} Rotary;
/* x (N, H, T, D) or (N, T, H, D), where `tokens` is the axis of T; cos and sin (N, T, width/2), or broadcasting to it.
 */
Value *rotary_expand(Expansion *c, Value *x, int tokens, Value *cos, Value *sin, Rotary r);
