/* LessOrEqual: y = a <= b as bool, with NumPy broadcasting. */
#include "ops/elementwise/broadcast.h"

BROADCAST_ROW_OF(floats_row, float, uint8_t, a <= b)
BROADCAST_ROW_OF(doubles_row, double, uint8_t, a <= b)
BROADCAST_ROW_OF(uint64_row, uint64_t, uint8_t, a <= b)
BROADCAST_ROW_OF(int64_row, int64_t, uint8_t, a <= b)
BROADCAST_ROW_OF(int32_row, int32_t, uint8_t, a <= b)

static Status less_or_equal_infer(Node *n) {
  TRY(broadcast_want_types(n, (DType[]){DTYPE_FLOAT32, DTYPE_INT64, DTYPE_INT32, DTYPE_FLOAT64, DTYPE_UINT64, 0}));
  return broadcast_infer(n, DTYPE_BOOL);
}

static void less_or_equal_run(const Node *n) {
  DType type = n->in[0]->type;
  broadcast_run(n, 2,
                type == DTYPE_FLOAT32   ? floats_row
                : type == DTYPE_FLOAT64 ? doubles_row
                : type == DTYPE_UINT64  ? uint64_row
                : type == DTYPE_INT64   ? int64_row
                                        : int32_row);
}

OPERATOR(less_or_equal) = {
    .name = "LessOrEqual",
    .since = {12, 16},
    .inputs = {2, 2},
    .flags = OP_FLOAT64,
    .infer = less_or_equal_infer,
    .run = less_or_equal_run,
    .cases = CASES({"f32[2,3] f32[3]"}, {"v:i64[3]=1,2,3 v:i64[]=2"}, {"v:i32[3]=1,2,3 v:i32[]=2"}),
};
