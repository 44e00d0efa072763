/* Equal: y = (a = b) as bool, with NumPy broadcasting. */
#include "ops/elementwise/broadcast.h"
#include "graph/strings.h"

BROADCAST_ROW_OF(floats_row, float, uint8_t, a == b)
BROADCAST_ROW_OF(doubles_row, double, uint8_t, a == b)
BROADCAST_ROW_OF(uint64_row, uint64_t, uint8_t, a == b)
BROADCAST_ROW_OF(int64_row, int64_t, uint8_t, a == b)
BROADCAST_ROW_OF(int32_row, int32_t, uint8_t, a == b)
BROADCAST_ROW_OF(bool_row, uint8_t, uint8_t, !a == !b)
typedef const char *Text;
BROADCAST_ROW_OF(strings_row, Text, uint8_t, strings_equal(a, b))

/* Shape arithmetic asks whether a dim is -1: a symbol is not. Two symbols, or a symbol and a possible size, may turn
 * out either way. */
static void equal_known(Node *n) {
  int count = broadcast_known_count(n);
  Dim y[BROADCAST_KNOWN];
  if (count < 0) return;
  for (int i = 0; i < count; i++) {
    Dim a = broadcast_known_at(n, 0, i), b = broadcast_known_at(n, 1, i);
    if (a != b &&
        ((dim_is_symbol(a) && (dim_is_number(b) || dim_is_symbol(b))) || (dim_is_symbol(b) && dim_is_number(a))))
      return;
    y[i] = a == b;
  }
  node_output_known(n, 0, y, count);
}

static Status equal_infer(Node *n) {
  TRY(broadcast_want_types(
      n, (DType[]){DTYPE_FLOAT32, DTYPE_INT64, DTYPE_INT32, DTYPE_FLOAT64, DTYPE_UINT64, DTYPE_BOOL, DTYPE_STRING, 0}));
  TRY(broadcast_infer(n, DTYPE_BOOL));
  equal_known(n);
  return STATUS_OK;
}

static void equal_run(const Node *n) {
  DType type = n->in[0]->type;
  broadcast_run(n, 2,
                type == DTYPE_FLOAT32   ? floats_row
                : type == DTYPE_FLOAT64 ? doubles_row
                : type == DTYPE_UINT64  ? uint64_row
                : type == DTYPE_INT64   ? int64_row
                : type == DTYPE_INT32   ? int32_row
                : type == DTYPE_STRING  ? strings_row
                                        : bool_row);
}

OPERATOR(equal) = {
    .name = "Equal",
    .since = {1, 7, 11, 13, 19},
    .inputs = {2, 2},
    .flags = OP_FLOAT64 | OP_STRINGS,
    .infer = equal_infer,
    .run = equal_run,
    .cases = CASES({"f32[2,3] f32[3]"}, {"i64[3]=1,-1,3 i64[1]=-1"}, {"v:i64[3]=1,2,3 v:i64[]=2"},
                   {"v:i32[3]=1,2,3 v:i32[]=2"}, {"v:bool[3]=1,0,1 v:bool[]=1"}),
};
