/* Or: y is true where one is, for bool, with NumPy broadcasting. */
#include "ops/elementwise/comparison.h"

BROADCAST_ROW_INTS(or_row, uint8_t, 1, ((a | b) != 0) & 1)

OPERATOR(or) = {
    .name = "Or",
    .since = {1, 7},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = comparison_infer,
    .run = comparison_run,
    .own = &(const Comparison){.bools = or_row},
    .cases = CASES({"v:bool[4]=1,0,1,0 v:bool[4]=1,1,0,0"}, {"v:bool[2,3]=1,0,1,0,1,0 v:bool[3]=0,1,1"}),
};
