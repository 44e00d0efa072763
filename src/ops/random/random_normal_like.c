/* RandomNormalLike: a tensor of the shape of the input, drawn from the normal distribution of mean and scale. */
#include "ops/random/random.h"

static Status random_normal_like_infer(Node *n) {
  return random_infer(n, &n->in[0]->shape, n->in[0]->type, node_float(n, "mean", 0), node_float(n, "scale", 1));
}

OPERATOR(random_normal_like) = {
    .name = "RandomNormalLike",
    .since = {1, 22},
    .inputs = {1, 1},
    .flags = OP_RANDOM | OP_ANY_TYPE,
    .infer = random_normal_like_infer,
    .run = random_normal,
    .grad = GRADIENT(random_like_gradient),
    .cases = CASES({"f32[3,5]", "mean=2.0 scale=0.5"}, {"i32[2,3]", "dtype=11"}, {"f16[5]"}),
};
