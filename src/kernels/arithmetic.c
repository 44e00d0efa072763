/* Arithmetic: what Add, Sub, Mul and Div share. */
#include "kernels/arithmetic.h"

typedef struct Arithmetic {
  ArithmeticInts *ints;
} Arithmetic;

static void output_known(Node *n, ArithmeticInts *ints) {
  int count = broadcast_known_count(n);
  Dim y[BROADCAST_KNOWN];
  if (count < 0) return;
  for (int i = 0; i < count; i++) {
    Dim a = broadcast_known_at(n, 0, i), b = broadcast_known_at(n, 1, i);
    if (dim_is_symbol(a) || dim_is_symbol(b)) return;
    y[i] = ints(a, b);
  }
  node_output_known(n, 0, y, count);
}

Status arithmetic_infer(Node *n, ArithmeticInts *ints) {
  Arithmetic *p = NODE_PARAMS(n, Arithmetic);
  if (!p) return STATUS_OUT_OF_MEMORY;
  p->ints = ints;
  TRY(broadcast_want_types(n, (DType[]){DTYPE_FLOAT32, DTYPE_INT64, DTYPE_INT32, 0}));
  TRY(broadcast_infer(n, n->in[0]->type));
  output_known(n, ints);
  return STATUS_OK;
}

BROADCAST_ROW_OF(row_int64, int64_t, int64_t, ((const Arithmetic *)n->params)->ints(a, b))
BROADCAST_ROW_OF(row_int32, int32_t, int32_t, (int32_t)((const Arithmetic *)n->params)->ints(a, b))

void arithmetic_run(const Node *n, BroadcastRow *floats) {
  DType type = n->in[0]->type;
  broadcast_run(n, 2, type == DTYPE_FLOAT32 ? floats : type == DTYPE_INT64 ? row_int64 : row_int32);
}
