/* Views: a value as it was before operators that only show it in another shape. */
#pragma once
#include "graph/op.h"

static inline const Value *behind_views(const Value *v) {
  while (v->producer && v->producer->op->flags & OP_VIEW) v = v->producer->in[0];
  return v;
}
