/* Or: y is true where one is, for bool, with NumPy broadcasting. */
#include "ops/elementwise/broadcast.h"

BROADCAST_ROW_OF(or_row, uint8_t, uint8_t, a || b)

static Status or_infer(Node *n) {
  TRY(node_want_type(n, 0, DTYPE_BOOL));
  TRY(node_want_type(n, 1, DTYPE_BOOL));
  return broadcast_infer(n, DTYPE_BOOL);
}

static void or_run(const Node *n) { broadcast_run(n, 2, or_row); }

OPERATOR(or) = {
    .name = "Or",
    .since = {1, 7},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = or_infer,
    .run = or_run,
    .cases = CASES({"v:bool[4]=1,0,1,0 v:bool[4]=1,1,0,0"}, {"v:bool[2,3]=1,0,1,0,1,0 v:bool[3]=0,1,1"}),
};
