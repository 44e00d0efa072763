/* ReduceMin: the smallest of x over the axes; NaN if one is.  dy goes to where x = y, in equal shares. */
#include <math.h>

#include "ops/elementwise/extreme.h"
#include "ops/reduce/reduce_numbers.h"

EXTREME(<)
FOLD_ROW(reduce_min_row, INFINITY, f32x4_select((b < a) | (b != b), b, a), f32x4_select((b < a) | (b != b), b, a))

OPERATOR(reduce_min) = {
    .name = "ReduceMin",
    .since = {1, 11, 12, 13, 18, 20},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_numbers_infer,
    .run = reduce_numbers_run,
    .own = &(const ReduceNumbers){INFINITY, reduce_min_row, extreme_floats, extreme_ints, extreme_naturals, true},
    .grad = GRADIENT(reduce_fold_gradient),
    .cases = CASES({"f32[2,3,4]", "axes=[1]"}, {"f32[3,5]", "axes=[-1] keepdims=0"}, {"f32[2,3,4]", "keepdims=0"},
                   {"f32[2,3,4] i64[2]=0,2", NULL, 18}, {"f32[2,3]", "noop_with_empty_axes=1", 18},
                   {"v:f32[2,3]=1,2,2,-1,-1,-1", "axes=[1]", .kink = true},
                   {"v:f32[3,3]=1,nan,2,nan,0,nan,2,1,2", "axes=[1]", .kink = true},
                   {"v:f32[2,4]=1,2,2,0,1,1,0,0", "keepdims=0", .kink = true},
                   {"v:u64[2,2]=1,18446744073709549568,3,2", "axes=[1]"},
                   {"v:bool[3,2]=1,0,0,0,1,1 i64[1]=1", NULL, 20}, {"v:bool[2,0] i64[1]=1", NULL, 20}),
};
