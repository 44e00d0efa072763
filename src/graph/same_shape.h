/* Same shape: the check of operators that walk two inputs side by side. */
#pragma once
#include "graph/dims.h"

/* Inputs a and b must be of one shape; a symbol may turn out to be any number. */
static inline Status same_shape_want(const Node *n, int a, int b) {
  const Shape *sa = &n->in[a]->shape, *sb = &n->in[b]->shape;
  if (dims_alike(sa, sb)) return STATUS_OK;
  char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
  return node_invalid(n, "inputs %d and %d must be of one shape, they are %s and %s", a, b, shape_print(sa, ta),
                      shape_print(sb, tb));
}
