/* MeanVarianceNormalization: y = (x - mean) / (deviation + 1e-9) over the axes. */
#include "graph/expansion.h"

static Status mean_variance_normalization_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int count;
  static const int64_t usual[] = {0, 2, 3};
  const int64_t *axes = node_ints(c->node, "axes", &count);
  if (!axes) axes = usual, count = 3;
  Value *mean = expand_reduce(c, "ReduceMean", x, axes, count, true), *d = emit(g, "Sub", x, mean);
  Value *deviation = emit(g, "Sqrt", expand_reduce(c, "ReduceMean", emit(g, "Mul", d, d), axes, count, true));
  return expand_done(c, emit(g, "Div", d, emit(g, "Add", deviation, expand_number(c, x, 1e-9))));
}

OPERATOR(mean_variance_normalization) = {
    .name = "MeanVarianceNormalization",
    .since = {9, 13},
    .inputs = {1, 1},
    .expand = mean_variance_normalization_expand,
    .cases = CASES({"f32[2,3,2,3]"}, {"f32[2,5]", "axes=[1]"}),
};
