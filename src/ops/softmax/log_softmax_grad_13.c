/* LogSoftmaxGrad_13 (com.microsoft): dx = dy - e^y·Σ dy along an axis, y is the output of LogSoftmax. */
#include "ops/softmax/softmax_axis.h"

static Status log_softmax_grad_13_infer(Node *n) { return softmax_axis_infer(n); }

static void log_softmax_grad_13_run(const Node *n) {
  log_softmax_gradient(softmax_axis_dims(n), in_f32(n, 0), in_f32(n, 1), out_f32(n, 0));
}

OPERATOR(log_softmax_grad_13) = {
    .name = "LogSoftmaxGrad_13",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = log_softmax_grad_13_infer,
    .run = log_softmax_grad_13_run,
    .cases = CASES({"f32[3,5] f32[3,5]:-3..0"}, {"f32[2,3,5] f32[2,3,5]:-3..0", "axis=1"}),
};
