/* Nd index: the last dim of an index tensor names a slice of the data; what GatherND, its gradient and ScatterND share.
 *
 *   data (B…, d0, …, dk-1, slice…)   indices (B…, rows…, k)   slices (B…, rows…, slice…)
 */
#pragma once
#include "ops/index/index.h"

typedef struct NdIndex {
  int batch_dims, depth; /* depth is k */
} NdIndex;

/* Checks the indices, input 1, against a data shape; params; the shape of all the slices, which input `given` (0: none)
 * has. Its rank tells k where the last dim of the indices is a symbol. */
Status nd_index_infer(Node *n, const Shape *data, int64_t batch_dims, int given, Shape *slices);
/* The number of slices, and of elements in each. */
size_t nd_index_rows(const Node *n);
size_t nd_index_slice(const Node *n, const Shape *data);

/* The parts of the shapes that nd_index_at needs, read once. */
typedef struct NdIndexRun {
  const Value *indices;
  size_t depth, per_batch, slice;
  bool batches;
  int64_t dim[RANK_MAX];
} NdIndexRun;

NdIndexRun nd_index_run(const Node *n, const Shape *data);

/* The element of the data at which slice `row` begins, -1 when it is out of range. */
static inline ptrdiff_t nd_index_at(const NdIndexRun *r, size_t row) {
  size_t place = r->batches ? row / r->per_batch : 0;
  for (size_t i = 0; i < r->depth; i++) {
    int64_t index = index_wrap(index_at(r->indices, row * r->depth + i), r->dim[i]);
    if (index < 0) return -1;
    place = place * (size_t)r->dim[i] + (size_t)index;
  }
  return (ptrdiff_t)(place * r->slice);
}

/* Notes that slice `row` of input 0, named by input 1, is out of range. */
void nd_index_note(const Node *n, size_t row);
