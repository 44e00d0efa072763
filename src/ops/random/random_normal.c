/* RandomNormal: a tensor of the given shape, drawn from the normal distribution of mean and scale. */
#include "ops/random/random.h"

static Status random_normal_infer(Node *n) {
  return random_infer_shaped(n, node_float(n, "mean", 0), node_float(n, "scale", 1));
}

OPERATOR(random_normal) = {
    .name = "RandomNormal",
    .since = {1, 22},
    .inputs = {0, 0},
    .flags = OP_RANDOM,
    .infer = random_normal_infer,
    .run = random_normal,
    .cases = CASES({"", "shape=[3,5] mean=2.0 scale=0.5"}, {"", "shape=[7] seed=4.0"}),
};
