/* Same shape: the check of operators that walk two inputs side by side. */
#pragma once
#include "graph/op.h"

/* Inputs a and b must be of one shape; a symbol may turn out to be any number. */
static inline Status same_shape_want(const Node *n, int a, int b) {
  const Shape *sa = &n->in[a]->shape, *sb = &n->in[b]->shape;
  bool same = sa->rank == sb->rank;
  for (int i = 0; same && i < sa->rank; i++)
    same = sa->dim[i] == sb->dim[i] || dim_is_symbol(sa->dim[i]) || dim_is_symbol(sb->dim[i]);
  if (same) return STATUS_OK;
  char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
  return node_invalid(n, "inputs %d and %d must be of one shape, they are %s and %s", a, b, shape_print(sa, ta),
                      shape_print(sb, tb));
}
