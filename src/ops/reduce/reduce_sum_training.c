/* ReduceSumTraining (com.microsoft): y = Σ x over the axes of input 1, at every opset. */
#include "ops/reduce/reduce.h"

static Status reduce_sum_training_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return reduce_infer(n, true, true);
}

static void reduce_sum_training_run(const Node *n) {
  reduce_sum(&n->in[0]->shape, ((const Reduce *)n->params)->axes, in_f32(n, 0), out_f32(n, 0));
}

OPERATOR(reduce_sum_training) = {
    .name = "ReduceSumTraining",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .infer = reduce_sum_training_infer,
    .run = reduce_sum_training_run,
    .cases = CASES({"f32[2,3,4] i64[2]=0,2"}, {"f32[2,3,4] i64[2]=0,2", "keepdims=0"}, {"f32[2,3] i64[0]="},
                   {"f32[2,3] i64[0]=", "noop_with_empty_axes=1"}),
};
