/* What NarrowMatMul takes, for the pass that makes it. */
#pragma once
#include "graph/op.h"
#include "kernels/narrow.h"

typedef struct NarrowInputs {
  const Value *w, *scale, *point; /* NULL where there is none */
} NarrowInputs;

/* Whether types and shapes go together, all of them numbers; `block` is 0 without blocks. */
bool narrow_is_right(const NarrowInputs *in, bool transposed, size_t block);
/* The matrix, without its numbers. */
Narrow narrow_of(const NarrowInputs *in, bool transposed, size_t block);
