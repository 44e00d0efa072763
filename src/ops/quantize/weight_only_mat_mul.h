/* The inputs of WeightOnlyMatMul, for the pass that makes it. */
#pragma once
#include "graph/op.h"
#include "kernels/weight_only.h"

typedef struct WeightOnlyInputs {
  Value *w, *scale, *point; /* NULL where there is none */
  bool trans_b;
  int64_t axis, block; /* DequantizeLinear's attributes; block 0: no blocks */
} WeightOnlyInputs;

/* True if types and shapes go together, all of them numbers. */
bool weight_only_is_right(const WeightOnlyInputs *in);
