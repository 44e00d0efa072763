/* SplitTraining (com.microsoft): Split with the sizes as input 1 at every opset. */
#include "ops/shape/split.h"

static Status split_training_infer(Node *n) { return split_infer(n); }

OPERATOR(split_training) = {
    .name = "SplitTraining",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .outputs = {1, -1},
    .flags = OP_FLOAT64,
    .infer = split_training_infer,
    .run = split_run,
    .grad = GRADIENT(split_grad),
    .cases = CASES({"f32[6,2] i64[2]=2,4", NULL, 0, 2}, {"f32[2,3,2] i64[3]=1,0,2", "axis=-2", 0, 3}),
};
