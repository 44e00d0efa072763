/* Comparison: which row compares which type. */
#include "ops/elementwise/comparison.h"

static BroadcastRow *row_of(const Node *n) {
  const Comparison *own = n->op->own;
  switch (n->in[0]->type) {
    case DTYPE_FLOAT32: return own->floats;
    case DTYPE_FLOAT64: return own->doubles;
    case DTYPE_UINT64: return own->uint64;
    case DTYPE_INT64: return own->int64;
    case DTYPE_INT32: return own->int32;
    case DTYPE_BOOL: return own->bools;
    case DTYPE_STRING: return own->strings;
    default: return NULL;
  }
}

Status comparison_infer(Node *n) {
  DType type = n->in[0]->type;
  if (n->in[1]->type != type)
    return node_invalid(n, "its inputs must be of one type, they are %s and %s", dtype_name(type),
                        dtype_name(n->in[1]->type));
  if (!row_of(n))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s, which it does not compute", dtype_name(type));
  return broadcast_infer(n, DTYPE_BOOL);
}

void comparison_run(const Node *n) { broadcast_run(n, 2, row_of(n)); }
