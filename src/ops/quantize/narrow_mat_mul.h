/* The inputs of NarrowMatMul, for the pass that makes it. */
#pragma once
#include "graph/op.h"
#include "kernels/narrow.h"

typedef struct NarrowInputs {
  Value *w, *scale, *point; /* NULL where there is none */
  bool trans_b;
  int64_t axis, block; /* DequantizeLinear's attributes; block 0: no blocks */
} NarrowInputs;

/* True if types and shapes go together, all of them numbers. */
bool narrow_is_right(const NarrowInputs *in);
