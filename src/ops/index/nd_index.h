/* Nd index: the last dim of an index tensor names a slice of the data; what GatherND, its gradient and ScatterND share.
 *
 *   data (B…, d0, …, dk-1, slice…)   indices (B…, rows…, k)   slices (B…, rows…, slice…)
 */
#pragma once
#include "ops/index/index.h"

typedef struct NdIndex {
  int batch_dims, depth; /* depth is k */
} NdIndex;

/* Checks input `indices` against a data shape; params; the shape of all the slices. */
Status nd_index_infer(Node *n, const Shape *data, int indices, int batch_dims, Shape *slices);
/* Refuses when `came` cannot be of the shape `wanted`. */
Status nd_index_want(const Node *n, int input, const Shape *wanted);
/* How many slices, and elements in each. */
size_t nd_index_rows(const Node *n, int indices);
size_t nd_index_slice(const Node *n, const Shape *data);
/* The element of the data at which slice `row` begins, -1 when it is out of range. */
ptrdiff_t nd_index_at(const Node *n, const Shape *data, int indices, size_t row);
