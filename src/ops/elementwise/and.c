/* And: y is true where both are, for bool, with NumPy broadcasting. */
#include "ops/elementwise/comparison.h"

COMPARISON_BOOLS(and_row, u8x16_min(u8x16_min(a, b), with))

OPERATOR(and) = {
    .name = "And",
    .since = {1, 7},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = comparison_infer,
    .run = comparison_run,
    .own = &(const Comparison){.bools = and_row},
    .cases = CASES({"v:bool[4]=1,0,1,0 v:bool[4]=1,1,0,0"}, {"v:bool[2,3]=1,0,1,0,1,0 v:bool[3]=0,1,1"}),
};
