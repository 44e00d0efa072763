/* GRU: gated recurrent unit. ops/recurrent/recurrent.h describes a step; a cell is
 *   z = f(z),  r = f(r),  h' = (1 - z) ∘ h~ + z ∘ h,  with
 *   h~ = g(h~ + (r ∘ h) Rhᵀ + Rbh),  or from opset 3 on with linear_before_reset, as in PyTorch,
 *   h~ = g(h~ + r ∘ l),  l = h Rhᵀ + Rbh
 * Slots: z, r, h~ after their activations; l, or r ∘ h; h before the step. */
#include "ops/recurrent/gru_cell.h"

enum { Z, R, N, L, H, SLOTS };

/* h' = (1 - z) ∘ h~ + z ∘ h */
static void finish(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  const float *z = recurrent_slot(s, b, Z) + from, *before = recurrent_slot(s, b, H) + from;
  float *next = recurrent_slot(s, b, N) + from, *h = s->h + b * s->h_stride + from;
  activation_run(&s->activations[1], next, n);
  for (size_t k = 0; k < n; k++) h[k] = (1 - z[k]) * next[k] + z[k] * before[k];
}

/* dz, dh~ and what goes straight to the state before: dh = dh' ∘ z */
static void finish_gradient(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  const float *z = recurrent_slot(s, b, Z) + from, *next = recurrent_slot(s, b, N) + from,
              *before = recurrent_slot(s, b, H) + from;
  float *dz = recurrent_grad_slot(s, b, Z) + from, *dnext = recurrent_grad_slot(s, b, N) + from,
        *dh = s->h + b * s->h_stride + from;
  for (size_t k = 0; k < n; k++) {
    dz[k] = dh[k] * (before[k] - next[k]);
    dnext[k] = dh[k] * (1 - z[k]);
    dh[k] *= z[k];
  }
  activation_gradient(&s->activations[0], z, dz, n);
  activation_gradient(&s->activations[1], next, dnext, n);
}

/* ---- the gate before the product ---- */

static void reset_forward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  float *r = recurrent_slot(s, b, R) + from, *left = recurrent_slot(s, b, L) + from;
  const float *before = recurrent_slot(s, b, H) + from;
  activation_run(&s->activations[0], recurrent_slot(s, b, Z) + from, n);
  activation_run(&s->activations[0], r, n);
  for (size_t k = 0; k < n; k++) left[k] = r[k] * before[k];
}

/* dr = dl ∘ h, dh += dl ∘ r */
static void reset_backward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  const float *r = recurrent_slot(s, b, R) + from, *before = recurrent_slot(s, b, H) + from,
              *dleft = recurrent_grad_slot(s, b, L) + from;
  float *dr = recurrent_grad_slot(s, b, R) + from, *dh = s->h + b * s->h_stride + from;
  for (size_t k = 0; k < n; k++) {
    dr[k] = dleft[k] * before[k];
    dh[k] += dleft[k] * r[k];
  }
  activation_gradient(&s->activations[0], r, dr, n);
}

static const RecurrentCell reset_first = {
    .gates = 3,
    .slots = SLOTS,
    .grad_slots = 4,
    .states = 1,
    .activations = 2,
    .defaults = {ACTIVATION_SIGMOID, ACTIVATION_TANH},
    .result = {Z, R, N},
    .phase_count = 2,
    .phases = {{.gate = 0, .gates = 2, .operand = H, .forward = reset_forward, .backward = reset_backward},
               {.gate = 2, .gates = 1, .operand = L, .forward = finish, .backward = finish_gradient}},
};

/* ---- the gate after the product ---- */

static void linear_forward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  float *r = recurrent_slot(s, b, R) + from, *next = recurrent_slot(s, b, N) + from;
  const float *linear = recurrent_slot(s, b, L) + from;
  activation_run(&s->activations[0], recurrent_slot(s, b, Z) + from, n);
  activation_run(&s->activations[0], r, n);
  for (size_t k = 0; k < n; k++) next[k] += r[k] * linear[k];
  finish(s, b, from, n);
}

/* dl = dh~ ∘ r, dr = dh~ ∘ l */
static void linear_backward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  const float *r = recurrent_slot(s, b, R) + from, *linear = recurrent_slot(s, b, L) + from;
  const float *dnext = recurrent_grad_slot(s, b, N) + from;
  float *dr = recurrent_grad_slot(s, b, R) + from, *dlinear = recurrent_grad_slot(s, b, L) + from;
  finish_gradient(s, b, from, n);
  for (size_t k = 0; k < n; k++) {
    dlinear[k] = dnext[k] * r[k];
    dr[k] = dnext[k] * linear[k];
  }
  activation_gradient(&s->activations[0], r, dr, n);
}

static const RecurrentCell linear_first = {
    .gates = 3,
    .slots = SLOTS,
    .grad_slots = 4,
    .states = 1,
    .activations = 2,
    .defaults = {ACTIVATION_SIGMOID, ACTIVATION_TANH},
    .result = {Z, R, L},
    .phase_count = 1,
    .phases = {{.gate = 0, .gates = 3, .operand = H, .forward = linear_forward, .backward = linear_backward}},
};

const RecurrentCell *gru_cell(const Node *n) {
  return node_int(n, "linear_before_reset", 0) != 0 ? &linear_first : &reset_first;
}

static Status gru_infer(Node *n) { return recurrent_infer(n, gru_cell(n)); }
static Status gru_grad(Grad *g) { return recurrent_grad(g, "GRUGrad", 1); }

OPERATOR(gru) = {
    .name = "GRU",
    .since = {1, 3, 7, 14},
    .inputs = {3, 6},
    .outputs = {0, 3},
    .weights = 2 | 4,
    .biases = 8,
    .infer = gru_infer,
    .run = recurrent_run,
    .grad = GRADIENT(gru_grad),
    .work = recurrent_work,
    .cases = CASES(
        {"f32[4,3,5] f32[1,12,5] f32[1,12,4]", "hidden_size=4", 14, 2},
        {"f32[5,2,3] f32[1,27,3] f32[1,27,9] f32[1,54] - f32[1,2,9]", "direction=reverse linear_before_reset=1", 7, 2},
        {"f32[3,4,2] f32[2,15,2] f32[2,15,5] f32[2,30] v:i32[4]=3,1,2,3 f32[2,4,5]",
         "direction=bidirectional linear_before_reset=1", 3, 2},
        {"f32[3,4,2] f32[2,15,2] f32[2,15,5] f32[2,30] v:i32[4]=3,1,2,3 f32[2,4,5]", "direction=bidirectional", 1, 2},
        {"f32[6,3,2] f32[1,9,2] f32[1,9,3] f32[1,18] v:i32[6]=3,1,2,3,2,1 f32[6,1,3]",
         "layout=1 activations=[HardSigmoid,Softsign]", 14, 2},
        {"f32[2,3,2] f32[2,9,2] f32[2,9,3] f32[2,18]",
         "layout=1 direction=bidirectional clip=0.9 linear_before_reset=1", 14, 2},
        {"f32[3,2,2] f32[1,9,2] f32[1,9,3]",
         "clip=0.9 activations=[Sigmoid,Affine] activation_alpha=[0.75] activation_beta=[0.125]", 7},
        {"f32[2,7,130] f32[1,210,130]:-0.1..0.1 f32[1,210,70]:-0.1..0.1 f32[1,420]", "", 14, 2},
        {"f32[2,7,130] f32[1,210,130]:-0.1..0.1 f32[1,210,70]:-0.1..0.1 f32[1,420]", "linear_before_reset=1", 14, 2},
        {"f32[3,2,2] f32[2,9,2] f32[2,9,3]",
         "direction=bidirectional activations=[Sigmoid,Tanh,HardSigmoid,Softsign]"}),
};
