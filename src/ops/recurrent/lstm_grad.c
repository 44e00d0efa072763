/* LSTMGrad (com.trainlet): the gradient of LSTM, whose attributes it has. ops/recurrent/recurrent.h lists inputs and
 * outputs. */
#include "ops/recurrent/lstm_cell.h"

static Status lstm_grad_infer(Node *n) { return recurrent_gradient_infer(n, &lstm_cell); }

OPERATOR(lstm_grad) = {
    .name = "LSTMGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 12},
    .outputs = {0, 7},
    .flags = OP_OURS,
    .infer = lstm_grad_infer,
    .run = recurrent_gradient_run,
    .work = recurrent_gradient_work,
    .cases = CASES({"f32[2,3,2] f32[1,8,2] f32[1,8,2] - - - - f32[1,6] f32[1,2,3,12] f32[2,1,3,2]", "", 0, 7}),
};
