/* Index: elements of int32 or int64 index tensors, negative ones counted from the end. */
#pragma once
#include "graph/bad_index.h"

/* Element i of the index tensor v. */
static inline int64_t index_at(const Value *v, size_t i) {
  return v->type == DTYPE_INT64 ? ((const int64_t *)v->data)[i] : ((const int32_t *)v->data)[i];
}

/* 0 … dim-1, or -1 when the index is out of range. */
static inline int64_t index_wrap(int64_t index, int64_t dim) {
  if (index < 0) index += dim;
  return index >= 0 && index < dim ? index : -1;
}

/* The gradient dy of rows at indices, zero where the index is `padding`. */
Value *index_without_padding(Graph *g, Value *dy, Value *indices, int64_t padding);

/* For run: element `at` of this input is no index of a dim. */
static inline void index_note(const Node *n, int input, size_t at, int64_t dim) {
  bad_index_note(n, input, at, -dim, dim - 1);
}

/* For run: whether all elements of this input are 0 … most; the first that is not is noted. */
bool index_all_within(const Node *n, int input, int64_t most);
