/* RNN: a recurrent layer of one gate. ops/recurrent/recurrent.h has the way of a step; a cell is  h' = f(h'). */
#include "ops/recurrent/rnn_cell.h"

#include <string.h>

static void rnn_forward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  float *y = recurrent_slot(s, b, 0) + from;
  activation_run(&s->activations[0], y, n);
  memcpy(s->h + b * s->h_stride + from, y, n * sizeof *y);
}

static void rnn_backward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  float *dy = recurrent_grad_slot(s, b, 0) + from, *dh = s->h + b * s->h_stride + from;
  memcpy(dy, dh, n * sizeof *dy);
  memset(dh, 0, n * sizeof *dh);
  activation_gradient(&s->activations[0], recurrent_slot(s, b, 0) + from, dy, n);
}

const RecurrentCell rnn_cell = {
    .gates = 1,
    .slots = 2,
    .grad_slots = 1,
    .states = 1,
    .activations = 1,
    .defaults = {ACTIVATION_TANH},
    .result = {0},
    .phase_count = 1,
    .phases = {{.gate = 0, .gates = 1, .operand = 1, .forward = rnn_forward, .backward = rnn_backward}},
};

static Status rnn_infer(Node *n) { return recurrent_infer(n, &rnn_cell); }
static Status rnn_grad(Grad *g) { return recurrent_grad(g, "RNNGrad", 1); }

OPERATOR(rnn) = {
    .name = "RNN",
    .since = {1, 7, 14},
    .inputs = {3, 6},
    .outputs = {0, 3},
    .weights = 2 | 4,
    .biases = 8,
    .infer = rnn_infer,
    .run = recurrent_run,
    .grad = GRADIENT(rnn_grad),
    .work = recurrent_work,
    .cases = CASES(
        {"f32[4,3,5] f32[1,4,5] f32[1,4,4]", "hidden_size=4", 14, 2},
        {"f32[5,2,3] f32[1,9,3] f32[1,9,9] f32[1,18] - f32[1,2,9]", "direction=reverse activations=[Relu]", 7, 2},
        {"f32[3,4,2] f32[2,5,2] f32[2,5,5] f32[2,10] v:i32[4]=3,1,2,3 f32[2,4,5]",
         "direction=bidirectional activations=[Tanh,Sigmoid]", 1, 2},
        {"f32[6,3,2] f32[1,3,2] f32[1,3,3] f32[1,6] v:i32[6]=3,1,2,3,2,1 f32[6,1,3]", "layout=1", 14, 2},
        {"f32[2,3,2] f32[2,3,2] f32[2,3,3] f32[2,6]", "layout=1 direction=bidirectional clip=0.9", 14, 2},
        {"f32[3,2,2] f32[1,3,2] f32[1,3,3]", "activations=[ThresholdedRelu] activation_alpha=[0.2]"},
        {"f32[2,7,130] f32[1,70,130]:-0.1..0.1 f32[1,70,70]:-0.1..0.1 f32[1,140]", "", 14, 2},
        {"f32[3,4,2] f32[1,5,2] f32[1,5,5]", "activations=[LeakyRelu] activation_alpha=[0.25]"},
        {"f32[3,4,2] f32[1,5,2] f32[1,5,5]", "activations=[Elu] activation_alpha=[0.5]"},
        {"v:f32[1,1,2]=0,0 f32[1,3,2] f32[1,3,3]", "activations=[Elu] activation_alpha=[0.5]", .kink = true},
        {"v:f32[1,1,2]=0,0 f32[1,3,2] f32[1,3,3]", "activations=[LeakyRelu] activation_alpha=[0.25]", .kink = true},
        {"f32[1,1,3] f32[2,4,3] f32[2,4,4]", "direction=bidirectional"},
        {"f32[3,2,2] f32[1,3,2] f32[1,3,3] - v:i32[2]=3,1"}),
};
