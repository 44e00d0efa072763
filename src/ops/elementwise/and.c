/* And: y is true where both are, for bool, with NumPy broadcasting. */
#include "ops/elementwise/broadcast.h"

BROADCAST_ROW_OF(and_row, uint8_t, uint8_t, a &&b)

static Status and_infer(Node *n) {
  TRY(node_want_type(n, 0, DTYPE_BOOL));
  TRY(node_want_type(n, 1, DTYPE_BOOL));
  return broadcast_infer(n, DTYPE_BOOL);
}

static void and_run(const Node *n) { broadcast_run(n, 2, and_row); }

OPERATOR(and) = {
    .name = "And",
    .since = {1, 7},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = and_infer,
    .run = and_run,
    .cases = CASES({"v:bool[4]=1,0,1,0 v:bool[4]=1,1,0,0"}, {"v:bool[2,3]=1,0,1,0,1,0 v:bool[3]=0,1,1"}),
};
