/* LSTM: long short-term memory. ops/recurrent/recurrent.h describes a step; a cell, with the peepholes P as p, is
 *   i = f(i + pi ∘ c),  f = f(f + pf ∘ c),  c~ = g(c~),  c' = f ∘ c + i ∘ c~,  o = f(o + po ∘ c'),  h' = o ∘ h(c')
 * With input_forget, f = 1 - i. `clip` limits the arguments of the gates' activations, as in ONNX Runtime, but not c'
 * before h. */
#include "ops/recurrent/lstm_cell.h"

#include <math.h>
#include <string.h>

enum { I, O, F, G, C, H, SLOTS };
enum { BLOCK = 64 }; /* units at a time, so that what is between them stays on the stack */

static Activation without_clip(Activation a) {
  a.clip = a.high = INFINITY;
  a.low = -INFINITY;
  return a;
}

/* y += a ∘ b */
static void add_product(float *y, const float *a, const float *b, size_t n) {
  for (size_t k = 0; k < n; k++) y[k] += a[k] * b[k];
}

static void lstm_forward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  const float *p = s->peepholes ? s->peepholes + from : NULL;
  size_t hidden = s->p->hidden;
  float *i = recurrent_slot(s, b, I) + from, *o = recurrent_slot(s, b, O) + from, *f = recurrent_slot(s, b, F) + from;
  float *g = recurrent_slot(s, b, G) + from, *before = recurrent_slot(s, b, C) + from;
  float *c = s->c + b * s->h_stride + from, *h = s->h + b * s->h_stride + from;
  Activation last = without_clip(s->activations[2]);
  if (p) add_product(i, p, before, n), add_product(f, p + 2 * hidden, before, n);
  activation_run(&s->activations[0], i, n);
  activation_run(&s->activations[0], f, n);
  activation_run(&s->activations[1], g, n);
  for (size_t k = 0; k < n && s->p->input_forget; k++) f[k] = 1 - i[k];
  for (size_t k = 0; k < n; k++) h[k] = c[k] = f[k] * before[k] + i[k] * g[k];
  if (p) add_product(o, p + hidden, c, n);
  activation_run(&s->activations[0], o, n);
  activation_run(&last, h, n);
  for (size_t k = 0; k < n; k++) h[k] *= o[k];
}

static void lstm_block(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  const float *p = s->peepholes ? s->peepholes + from : NULL;
  size_t hidden = s->p->hidden;
  const float *i = recurrent_slot(s, b, I) + from, *o = recurrent_slot(s, b, O) + from,
              *f = recurrent_slot(s, b, F) + from;
  const float *g = recurrent_slot(s, b, G) + from, *before = recurrent_slot(s, b, C) + from;
  float *di = recurrent_grad_slot(s, b, I) + from, *dO = recurrent_grad_slot(s, b, O) + from,
        *df = recurrent_grad_slot(s, b, F) + from;
  float *dg = recurrent_grad_slot(s, b, G) + from, *dc = s->c + b * s->h_stride + from,
        *dh = s->h + b * s->h_stride + from;
  Activation last = without_clip(s->activations[2]);
  float out[BLOCK], through[BLOCK]; /* h(c') and the gradient that comes through it */
  for (size_t k = 0; k < n; k++) out[k] = f[k] * before[k] + i[k] * g[k];
  activation_run(&last, out, n);
  for (size_t k = 0; k < n; k++) dO[k] = dh[k] * out[k], through[k] = dh[k] * o[k];
  activation_gradient(&s->activations[0], o, dO, n);
  activation_gradient(&last, out, through, n);
  for (size_t k = 0; k < n; k++) dc[k] += through[k];
  if (p) add_product(dc, dO, p + hidden, n);
  bool tied = s->p->input_forget; /* a loop each: with so many arrays in one the compiler does not vectorize it */
  for (size_t k = 0; k < n; k++) di[k] = dc[k] * (tied ? g[k] - before[k] : g[k]);
  for (size_t k = 0; k < n; k++) df[k] = tied ? 0 : dc[k] * before[k];
  for (size_t k = 0; k < n; k++) dg[k] = dc[k] * i[k];
  for (size_t k = 0; k < n; k++) dc[k] *= f[k], dh[k] = 0;
  activation_gradient(&s->activations[0], i, di, n);
  if (!tied) activation_gradient(&s->activations[0], f, df, n);
  activation_gradient(&s->activations[1], g, dg, n);
  if (p) add_product(dc, di, p, n), add_product(dc, df, p + 2 * hidden, n);
}

static void lstm_backward(const RecurrentStep *s, size_t b, size_t from, size_t n) {
  for (size_t end = from + n; from < end; from += BLOCK)
    lstm_block(s, b, from, end - from < BLOCK ? end - from : BLOCK);
}

const RecurrentCell lstm_cell = {
    .gates = 4,
    .slots = SLOTS,
    .grad_slots = 4,
    .states = 2,
    .activations = 3,
    .defaults = {ACTIVATION_SIGMOID, ACTIVATION_TANH, ACTIVATION_TANH},
    .result = {I, O, F, G},
    .phase_count = 1,
    .phases = {{.gate = 0, .gates = 4, .operand = H, .forward = lstm_forward, .backward = lstm_backward}},
};

static Status lstm_infer(Node *n) { return recurrent_infer(n, &lstm_cell); }
static Status lstm_grad(Grad *g) { return recurrent_grad(g, "LSTMGrad", 2); }

OPERATOR(lstm) = {
    .name = "LSTM",
    .since = {1, 7, 14},
    .inputs = {3, 8},
    .outputs = {0, 4},
    .weights = 2 | 4,
    .biases = 8,
    .scales = 1 << 7,
    .infer = lstm_infer,
    .run = recurrent_run,
    .grad = GRADIENT(lstm_grad),
    .work = recurrent_work,
    .cases = CASES({"f32[4,3,5] f32[1,16,5] f32[1,16,4]", "hidden_size=4", 14, 3},
                   {"f32[5,2,3] f32[1,36,3] f32[1,36,9] f32[1,72] - f32[1,2,9] f32[1,2,9]", "direction=reverse", 7, 3},
                   {"f32[3,4,2] f32[2,20,2] f32[2,20,5] f32[2,40] v:i32[4]=3,1,2,3 f32[2,4,5] f32[2,4,5]",
                    "direction=bidirectional", 0, 3},
                   {"f32[6,3,2] f32[1,12,2] f32[1,12,3] f32[1,24] v:i32[6]=3,1,2,3,2,1 f32[6,1,3] f32[6,1,3] f32[1,9]",
                    "layout=1", 14, 3},
                   {"f32[2,3,2] f32[2,12,2] f32[2,12,3] f32[2,24] - - - f32[2,9]",
                    "layout=1 direction=bidirectional clip=0.9", 14, 3},
                   {"f32[3,2,2] f32[1,12,2] f32[1,12,3] f32[1,24] - - - f32[1,9]",
                    "input_forget=1 activations=[HardSigmoid,Softsign,Affine] activation_alpha=[0.15,0.75] "
                    "activation_beta=[0.4,0.1]",
                    1, 3},
                   {"f32[3,1,2] f32[1,4,2] f32[1,4,1] f32[1,8]",
                    "activations=[Sigmoid,Elu,LeakyRelu] activation_alpha=[0.5,0.125]", 1},
                   {"f32[3,2,2] f32[1,24,2] f32[1,24,6]",
                    "activations=[Sigmoid,Softplus,ScaledTanh] activation_alpha=[1.5] activation_beta=[0.5]", 7},
                   {"f32[2,7,130] f32[1,280,130]:-0.1..0.1 f32[1,280,70]:-0.1..0.1 f32[1,560]", "", 14, 3},
                   {"f32[0,2,3] f32[1,8,3] f32[1,8,2] - - f32[1,2,2] f32[1,2,2]", "", 14, 3},
                   {"f32[2,32,3] f32[1,288,3]:-0.1..0.1 f32[1,288,72]:-0.1..0.1"}),
};
