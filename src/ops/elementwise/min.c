/* Min: the smallest of its inputs, with NumPy broadcasting; NaN if one is.  dy goes to where x = y, half to each of two
 * equals. */
#include "ops/elementwise/extreme.h"

EXTREME(<)
BROADCAST_ROW_2(min_row, f32x4_select((b < a) | (b != b), b, a))

static Status min_grad(Grad *g) { return extreme_gradient(g, "Greater"); }

OPERATOR(min) = {
    .name = "Min",
    .since = {1, 6, 8, 12, 13},
    .inputs = {1, -1},
    .in_place = ~0u,
    .flags = OP_FLOAT64,
    .infer = arithmetic_fold_infer,
    .run = arithmetic_fold_run,
    .own = &(const Arithmetic){min_row, extreme_floats, extreme_ints, extreme_naturals},
    .grad = GRADIENT(min_grad),
    .cases = CASES({"f32[5]"}, {"f32[2,3] f32[2,3]"}, {"f32[3] f32[2,1] f32[2,3]"}, {"f32[6] f32[]"},
                   {"v:f32[4]=1,2,0,-1 v:f32[4]=1,1,0,3", .kink = true},
                   {"v:f32[4]=1,2,1,0 v:f32[4]=1,2,0,1 v:f32[4]=1,1,1,2", .kink = true},
                   {"v:f32[3]=nan,1,nan v:f32[3]=1,nan,nan", .kink = true}),
};
