/* RNNGrad (com.trainlet): the gradient of RNN, whose attributes it has. ops/recurrent/recurrent.h lists inputs and
 * outputs. */
#include "ops/recurrent/rnn_cell.h"

static Status rnn_grad_infer(Node *n) { return recurrent_gradient_infer(n, &rnn_cell); }

OPERATOR(rnn_grad) = {
    .name = "RNNGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 11},
    .outputs = {0, 5},
    .flags = OP_OURS,
    .infer = rnn_grad_infer,
    .run = recurrent_gradient_run,
    .work = recurrent_gradient_work,
    .cases = CASES({"f32[2,3,2] f32[1,2,2] f32[1,2,2] - - - - - f32[1,2,3,4] f32[2,1,3,2]", "", 0, 5}),
};
