/* SoftmaxGrad_13 (com.microsoft): dx = y·(dy - Σ dy·y) along an axis, y is the output of Softmax. */
#include "ops/softmax/softmax_axis.h"

static Status softmax_grad_13_infer(Node *n) { return softmax_axis_infer(n); }

static void softmax_grad_13_run(const Node *n) {
  softmax_gradient(softmax_axis_dims(n), in_f32(n, 0), in_f32(n, 1), out_f32(n, 0));
}

OPERATOR(softmax_grad_13) = {
    .name = "SoftmaxGrad_13",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = softmax_grad_13_infer,
    .run = softmax_grad_13_run,
    .cases = CASES({"f32[3,5] f32[3,5]:0..1"}, {"f32[2,3,5] f32[2,3,5]:0..1", "axis=1"}),
};
