/* GRUGrad (com.trainlet): the gradient of GRU, whose attributes it has. ops/recurrent/recurrent.h lists inputs and
 * outputs. */
#include "ops/recurrent/gru_cell.h"

static Status gru_grad_infer(Node *n) { return recurrent_gradient_infer(n, gru_cell(n)); }

CASES_OF(gru_grad_cases) = {{"f32[2,3,2] f32[1,6,2] f32[1,6,2] - - - - - f32[1,2,3,10] f32[2,1,3,2]", "", 0, 5}, {0}};

OPERATOR(gru_grad) = {
    .name = "GRUGrad",
    .domain = "com.trainlet",
    .since = {1},
    .min_in = 3,
    .max_in = 11,
    .min_out = 0,
    .max_out = 5,
    .flags = OP_OURS,
    .infer = gru_grad_infer,
    .run = recurrent_gradient_run,
    .work = recurrent_gradient_work,
    .cases = CASES(gru_grad_cases),
};
