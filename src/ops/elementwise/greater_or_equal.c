/* GreaterOrEqual: y = a >= b as bool, with NumPy broadcasting. */
#include "ops/elementwise/comparison.h"

COMPARISON_ROWS(a >= b)

OPERATOR(greater_or_equal) = {
    .name = "GreaterOrEqual",
    .since = {12, 16},
    .inputs = {2, 2},
    .flags = OP_FLOAT64,
    .infer = comparison_infer,
    .run = comparison_run,
    .own = &(const Comparison){COMPARISON_OF_NUMBERS, COMPARES_INTS | COMPARES_NOT},
    .cases = CASES({"f32[2,3] f32[3]"}, {"v:i64[3]=1,2,3 v:i64[]=2"}, {"v:i32[3]=1,2,3 v:i32[]=2"}),
};
