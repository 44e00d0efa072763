/* GRUGrad (com.trainlet): the gradient of GRU, whose attributes it has. ops/recurrent/recurrent.h lists inputs and
 * outputs. */
#include "ops/recurrent/gru_cell.h"

static Status gru_grad_infer(Node *n) { return recurrent_gradient_infer(n, gru_cell(n)); }

OPERATOR(gru_grad) = {
    .name = "GRUGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 11},
    .outputs = {0, 5},
    .flags = OP_OURS,
    .infer = gru_grad_infer,
    .run = recurrent_gradient_run,
    .work = recurrent_gradient_work,
    .cases = CASES({"f32[2,3,2] f32[1,6,2] f32[1,6,2] - - - - - f32[1,2,3,10] f32[2,1,3,2]", "", 0, 5}),
};
