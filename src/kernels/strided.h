/* Strided: copying n-dimensional blocks between layouts; the one loop behind Transpose, Slice, Expand and the like. */
#pragma once
#include "shape.h"

typedef struct StridedDim {
  size_t count;
  ptrdiff_t to, from; /* steps in elements; from 0 repeats, a negative one runs backwards */
} StridedDim;

typedef struct Strided {
  int rank;
  StridedDim dim[RANK_MAX];
} Strided;

/* to[Σ iₖ·toₖ] = from[Σ iₖ·fromₖ] for every index; `item` is the bytes of an element: 1, 2, 4 or 8. */
void strided_copy(void *to, const void *from, Strided s, size_t item);
/* The item at `from` again and again, `count` times side by side. */
void strided_fill(void *to, const void *from, size_t count, size_t item);
