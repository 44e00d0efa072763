/* Index: elements of int32 or int64 index tensors, negative ones counted from the end. */
#pragma once
#include "graph/op.h"
#include "simd.h"

/* Element i of the index tensor v. */
static inline int64_t index_at(const Value *v, size_t i) {
  return v->type == DTYPE_INT64 ? ((const int64_t *)v->data)[i] : ((const int32_t *)v->data)[i];
}

/* 0 … dim-1, or -1 when the index is out of range. */
static inline int64_t index_wrap(int64_t index, int64_t dim) {
  if (index < 0) index += dim;
  return index >= 0 && index < dim ? index : -1;
}

/* to += from, of a slice that an index names. */
static inline void index_add_row(float *to, const float *from, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) f32x4_store(to + i, f32x4_load(to + i) + f32x4_load(from + i));
  for (; i < count; i++) to[i] += from[i];
}
