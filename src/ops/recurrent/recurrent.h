/* Recurrent: what LSTM, GRU and RNN share. A row of X is one step of one example; for each row, forward keeps what
 * backward needs:
 *
 *   kept (directions, rows of X, slots · hidden):
 *   │ gates after their activations │ what the cell adds │ state before the step │
 *
 *   forward   1. gates = X Wᵀ + bias, one product for all steps
 *             2. step by step: gates += state Rᵀ, then the cell
 *   backward  2. step by step: the cell's dgates, then dstate += dgates R
 *             1. dW = dgatesᵀ X, dR = dgatesᵀ states, dX = dgates W
 *
 * R is packed once for all steps; a chunk of a step is some hidden units: their products, then their cells. A row past
 * its example's sequence_lens leaves the state as it is and gives 0.
 *
 * Inputs of the forward operators: X, W, R, B, sequence_lens, initial_h, initial_c, P. Those of the gradients are the
 * same, of which B and the initial states may be left out, then kept, dY, dY_h, dY_c; their outputs dX, dW, dR, dB,
 * dinitial_h, dinitial_c, dP. */
#pragma once
#include "ops/recurrent/recurrent_activation.h"
#include "threads.h"

enum { RECURRENT_GATES = 4, RECURRENT_PHASES = 2, RECURRENT_ACTIVATIONS = 3 };
enum {
  RECURRENT_X,
  RECURRENT_W,
  RECURRENT_R,
  RECURRENT_B,
  RECURRENT_LENGTHS,
  RECURRENT_H,
  RECURRENT_C,
  RECURRENT_P,
  RECURRENT_KEPT,
  RECURRENT_DY
};

typedef struct RecurrentStep RecurrentStep;
/* Example b's units from … from + count - 1. */
typedef void RecurrentUnits(const RecurrentStep *s, size_t b, size_t from, size_t count);

/* Part of a step: a product with some gates of R, then what is done to each unit. In backward, the units come first. */
typedef struct RecurrentPhase {
  int gate, gates; /* gates of R */
  int operand;     /* slot that R multiplies */
  RecurrentUnits *forward, *backward;
} RecurrentPhase;

typedef struct RecurrentCell {
  int gates, slots;
  int grad_slots; /* the first slots, which have gradients */
  int states;     /* 2: h and c, 1: h; the last slots: c, h */
  int activations;
  int phase_count;
  ActivationKind defaults[RECURRENT_ACTIVATIONS];
  int result[RECURRENT_GATES]; /* slot that gets the product with this gate of R: the gate's own, or one apart that
                                  begins with R's bias */
  RecurrentPhase phases[RECURRENT_PHASES];
} RecurrentCell;

typedef struct Recurrent {
  const RecurrentCell *cell;
  size_t steps, batch, inputs, hidden, directions;
  size_t rows, row_of_step, row_of_example; /* rows and strides of X */
  bool batch_first, reverse;                /* reverse: the first direction */
  bool input_forget;
  Activation activations[2 * RECURRENT_ACTIVATIONS];
} Recurrent;

struct RecurrentStep {
  const Recurrent *p;
  const Activation *activations; /* the direction's */
  const float *peepholes;        /* (3 · hidden), or NULL */
  float *kept;                   /* example 0's */
  size_t kept_stride;            /* from example to example */
  float *h, *c;                  /* state after the step; backward its gradient, moved to that before */
  size_t h_stride;               /* stride of h and c */
  float *grad;                   /* backward: gradients of the slots of example 0 */
  size_t grad_stride;
};

static inline float *recurrent_slot(const RecurrentStep *s, size_t b, int slot) {
  return s->kept + b * s->kept_stride + (size_t)slot * s->p->hidden;
}
static inline float *recurrent_grad_slot(const RecurrentStep *s, size_t b, int slot) {
  return s->grad + b * s->grad_stride + (size_t)slot * s->p->hidden;
}

Status recurrent_infer(Node *n, const RecurrentCell *cell);
void recurrent_run(const Node *n);
Status recurrent_grad(Grad *g, const char *name, int states);

Status recurrent_gradient_infer(Node *n, const RecurrentCell *cell);
void recurrent_gradient_run(const Node *n);

/* ---- recurrent_node.c to recurrent.c and recurrent_gradient.c ---- */
size_t recurrent_kept_floats(const Recurrent *p); /* floats of a direction (recurrent_lengths.c) */
static inline bool recurrent_reversed(const Recurrent *p, size_t direction) { return p->reverse || direction == 1; }
/* The start of a direction's part of a state (initial or last), and the distance between examples. */
static inline size_t recurrent_state_offset(const Recurrent *p, size_t direction) {
  return direction * p->hidden * (p->batch_first ? 1 : p->batch);
}
static inline size_t recurrent_state_stride(const Recurrent *p) {
  return p->hidden * (p->batch_first ? p->directions : 1);
}
/* True if a step is past the end of an example. */
bool recurrent_over(const Node *n, const Recurrent *p, size_t step, size_t b);
bool recurrent_forward_bytes(const Node *n, size_t *bytes);
bool recurrent_gradient_bytes(const Node *n, size_t *bytes);

double recurrent_work(const Node *n);
double recurrent_gradient_work(const Node *n);
