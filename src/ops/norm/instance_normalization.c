/* InstanceNormalization: y = scale·(x - mean) / √(variance + epsilon) + bias, over each plane. */
#include "graph/compose.h"

static Status instance_normalization_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int64_t axes[RANK_MAX];
  int count = 0;
  TRY(node_want_rank(c->node, 0, 3, RANK_MAX));
  for (int i = 2; i < x->shape.rank; i++) axes[count++] = i;
  Shape channel = {.rank = count + 1};
  for (int i = 0; i < channel.rank; i++) channel.dim[i] = i ? 1 : x->shape.dim[1];
  Value *d = emit(g, "Sub", x, compose_reduce(c, "ReduceMean", x, axes, count, true));
  Value *variance = compose_reduce(c, "ReduceMean", emit(g, "Mul", d, d), axes, count, true);
  Value *epsilon = compose_number(c, x, (double)node_float(c->node, "epsilon", 1e-5f));
  Value *y = emit(g, "Div", d, emit(g, "Sqrt", emit(g, "Add", variance, epsilon)));
  y = emit(g, "Mul", y, compose_reshape(c, c->node->in[1], channel, NULL));
  return compose_done(c, emit(g, "Add", y, compose_reshape(c, c->node->in[2], channel, NULL)));
}

OPERATOR(instance_normalization) = {
    .name = "InstanceNormalization",
    .since = {1, 6, 22},
    .inputs = {3, 3},
    .scales = 2,
    .biases = 4,
    .compose = instance_normalization_compose,
    .cases = CASES({"f32[2,3,2,3] f32[3] f32[3]"}, {"f32[2,3,5] f32[3] f32[3]", "epsilon=0.1"}),
};
