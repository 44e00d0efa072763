/* RandomUniformLike: a tensor of the shape of the input, drawn uniformly from [low, high). */
#include "ops/random/random.h"

static Status random_uniform_like_infer(Node *n) {
  float low = node_float(n, "low", 0), high = node_float(n, "high", 1);
  return random_infer(n, &n->in[0]->shape, n->in[0]->type, low, high - low);
}

OPERATOR(random_uniform_like) = {
    .name = "RandomUniformLike",
    .since = {1, 22},
    .inputs = {1, 1},
    .flags = OP_RANDOM | OP_ANY_TYPE,
    .infer = random_uniform_like_infer,
    .run = random_uniform,
    .grad = GRADIENT(random_like_gradient),
    .cases = CASES({"f32[3,5]", "low=-2.0"}, {"i32[2,3]", "dtype=11"}, {"f16[5]"}),
};
