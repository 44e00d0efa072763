/* RandomUniform: a tensor of the given shape, drawn uniformly from [low, high). */
#include "ops/random/random.h"

static Status random_uniform_infer(Node *n) {
  float low = node_float(n, "low", 0), high = node_float(n, "high", 1);
  return random_infer_shaped(n, low, high - low);
}

OPERATOR(random_uniform) = {
    .name = "RandomUniform",
    .since = {1, 22},
    .inputs = {0, 0},
    .flags = OP_RANDOM,
    .infer = random_uniform_infer,
    .run = random_uniform,
    .cases = CASES({"", "shape=[3,5] low=-2.0"}, {"", "shape=[7] seed=4.0"}),
};
