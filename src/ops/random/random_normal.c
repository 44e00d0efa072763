/* RandomNormal: a tensor of the given shape, drawn from the normal distribution of mean and scale. */
#include "ops/random/random.h"

static Status random_normal_infer(Node *n) {
  return random_infer_shaped(n, node_float(n, "mean", 0), node_float(n, "scale", 1));
}

CASES_OF(random_normal_cases) = {{"", "shape=[3,5] mean=2.0 scale=0.5"}, {"", "shape=[7] seed=4.0"}, {0}};

OPERATOR(random_normal) = {
    .name = "RandomNormal",
    .since = {1, 22},
    .min_in = 0,
    .max_in = 0,
    .min_out = 1,
    .max_out = 1,
    .flags = OP_RANDOM,
    .infer = random_normal_infer,
    .run = random_normal,
    .cases = CASES(random_normal_cases),
};
