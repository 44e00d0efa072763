/* Recurrent, backward: step by step from the end, then the weights' gradients over all steps. */
#include <string.h>

#include "ops/recurrent/recurrent.h"
#include "kernels/recurrent_product.h"
#include "kernels/scratch.h"
#include "size.h"

/* Neighbouring gates whose results are neighbours too: one product. */
typedef struct Run {
  int gate, slot, count;
} Run;

typedef struct Backward {
  const Node *n;
  const Recurrent *p;
  const float *kept;                         /* the direction's */
  float *grad;                               /* (rows of X, grad_slots · hidden) */
  float *packed_r, *packed_grad, *dstate[2]; /* dc and dh (batch, hidden) */
  char *product;
  size_t thread_bytes;
  size_t direction, t;
  RecurrentStep step;
  const RecurrentPhase *phase;
  Run run;
  size_t at_once;
} Backward;

static bool lay_out(Backward *f, Scratch *s) {
  const Recurrent *p = f->p;
  size_t hidden = p->hidden, gates = (size_t)p->cell->gates * hidden;
  f->grad = scratch_take(s, p->rows, (size_t)p->cell->grad_slots * hidden, sizeof(float));
  f->packed_r = scratch_take(s, recurrent_packed_floats(hidden, gates), 1, sizeof(float));
  f->packed_grad = scratch_take(s, p->batch, gates, sizeof(float));
  for (int i = 0; i < 2; i++) f->dstate[i] = scratch_take(s, p->batch, hidden, sizeof(float));
  f->thread_bytes = gemm_alone_bytes(0, RECURRENT_PANEL, gates);
  size_t bytes = f->thread_bytes * (size_t)threads_count();
  bytes = size_max(bytes, gemm_scratch_bytes(gates, p->inputs, p->rows));
  bytes = size_max(bytes, gemm_scratch_bytes(gates, hidden, p->rows));
  bytes = size_max(bytes, gemm_scratch_bytes(p->rows, p->inputs, gates));
  f->product = scratch_take(s, bytes, 1, 1);
  return !s->overflow;
}

bool recurrent_gradient_bytes(const Node *n, size_t *bytes) {
  Backward f = {.n = n, .p = n->params};
  Scratch s = {0};
  bool fits = lay_out(&f, &s);
  *bytes = s.used;
  return fits;
}

/* The run that begins at a gate of a phase; of 0 gates past the last. */
static Run run_at(const RecurrentCell *cell, const RecurrentPhase *phase, int gate) {
  int end = phase->gate + phase->gates;
  Run run = {.gate = gate, .slot = gate < end ? cell->result[gate] : 0};
  while (gate + run.count < end && cell->result[gate + run.count] == run.slot + run.count) run.count++;
  return run;
}

#define EACH_RUN(cell, phase, r)                                                                                       \
  for (Run r = run_at(cell, phase, (phase)->gate); r.count; r = run_at(cell, phase, r.gate + r.count))

static void pack_r(const Backward *f) {
  const RecurrentCell *cell = f->p->cell;
  size_t hidden = f->p->hidden;
  const float *r = in_f32(f->n, RECURRENT_R) + f->direction * (size_t)cell->gates * hidden * hidden;
  for (int i = 0; i < cell->phase_count; i++) EACH_RUN(cell, &cell->phases[i], run) {
      GemmSource source = gemm_b(r + (size_t)run.gate * hidden * hidden, hidden, false);
      recurrent_pack(&source, hidden, (size_t)run.count * hidden,
                     f->packed_r + recurrent_packed_floats(hidden, (size_t)run.gate * hidden));
    }
}

/* ---- a step ---- */

/* dh += dY of the step */
static void add_dy(const Backward *f, size_t b, size_t from, size_t count) {
  const Recurrent *p = f->p;
  if (!has_in(f->n, RECURRENT_DY)) return;
  size_t row = p->batch_first ? (b * p->steps + f->t) * p->directions + f->direction
                              : (f->t * p->directions + f->direction) * p->batch + b;
  const float *dy = in_f32(f->n, RECURRENT_DY) + row * p->hidden + from;
  float *dh = f->step.h + b * f->step.h_stride + from;
  for (size_t i = 0; i < count; i++) dh[i] += dy[i];
}

static void units_run(void *context, size_t from, size_t to) {
  const Backward *f = context;
  const Recurrent *p = f->p;
  bool first = f->phase == &p->cell->phases[p->cell->phase_count - 1];
  for (size_t b = 0; b < p->batch; b++) {
    bool over = recurrent_over(f->n, p, f->t, b);
    if (over && first) /* no gradient through this row; those of the state go on as they are */
      for (int slot = 0; slot < p->cell->grad_slots; slot++)
        memset(recurrent_grad_slot(&f->step, b, slot) + from, 0, (to - from) * sizeof(float));
    if (over) continue;
    if (first) add_dy(f, b, from, to - from);
    f->phase->backward(&f->step, b, from, to - from);
  }
}

/* Towards what the phase multiplied: dh += dgates R for the state, else the slot's gradient. */
static void panels_run(void *context, size_t chunk, int thread) {
  const Backward *f = context;
  const Recurrent *p = f->p;
  size_t panels = recurrent_panels(p->hidden), from = chunk * f->at_once,
         to = from + f->at_once < panels ? from + f->at_once : panels;
  bool of_state = f->phase->operand == p->cell->slots - 1;
  RecurrentProduct g = {
      .rows = p->batch, .columns = p->hidden, .depth = (size_t)f->run.count * p->hidden, .packed_a = f->packed_grad};
  g.packed_b = f->packed_r + recurrent_packed_floats(p->hidden, (size_t)f->run.gate * p->hidden);
  g.c = of_state ? f->step.h : recurrent_grad_slot(&f->step, 0, f->phase->operand);
  g.c_stride = of_state ? f->step.h_stride : f->step.grad_stride;
  if (of_state) g.d = g.c, g.d_stride = g.c_stride;
  recurrent_product(&g, from, to, f->product + (size_t)thread * f->thread_bytes);
}

static void phase_run(Backward *f, const RecurrentPhase *phase) {
  const Recurrent *p = f->p;
  f->phase = phase;
  threads_split(p->hidden, threads_grain(p->batch * 8), units_run, f);
  EACH_RUN(p->cell, phase, run) {
    size_t depth = (size_t)run.count * p->hidden;
    f->run = run;
    GemmSource grads = gemm_a(recurrent_grad_slot(&f->step, 0, run.slot), f->step.grad_stride, false);
    gemm_pack_a(&grads, p->batch, depth, f->packed_grad);
    f->at_once = recurrent_panels_at_once(p->batch, depth);
    threads_run(ceil_div(recurrent_panels(p->hidden), f->at_once), panels_run, f);
  }
}

static void steps_run(Backward *f) {
  const Recurrent *p = f->p;
  RecurrentStep *s = &f->step;
  size_t slots = (size_t)p->cell->slots * p->hidden, grad_slots = (size_t)p->cell->grad_slots * p->hidden;
  *s = (RecurrentStep){.p = p, .activations = p->activations + f->direction * (size_t)p->cell->activations};
  if (has_in(f->n, RECURRENT_P)) s->peepholes = in_f32(f->n, RECURRENT_P) + f->direction * 3 * p->hidden;
  s->kept_stride = p->row_of_example * slots;
  s->grad_stride = p->row_of_example * grad_slots;
  s->h = f->dstate[1], s->c = f->dstate[0], s->h_stride = p->hidden;
  for (size_t i = 0; i < p->steps; i++) {
    f->t = recurrent_reversed(p, f->direction) ? i : p->steps - 1 - i;
    s->kept = (float *)(uintptr_t)f->kept + f->t * p->row_of_step * slots; /* read only */
    s->grad = f->grad + f->t * p->row_of_step * grad_slots;
    for (int k = p->cell->phase_count - 1; k >= 0; k--) phase_run(f, &p->cell->phases[k]);
  }
}

/* ---- the states ---- */

static void states_begin(const Backward *f) {
  const Recurrent *p = f->p;
  for (int i = 0; i < 2; i++) {
    int input = RECURRENT_DY + 2 - i; /* c is dstate[0] and the last input */
    for (size_t b = 0; b < p->batch; b++) {
      float *to = f->dstate[i] + b * p->hidden;
      if (has_in(f->n, input))
        memcpy(to, in_f32(f->n, input) + recurrent_state_offset(p, f->direction) + b * recurrent_state_stride(p),
               p->hidden * sizeof *to);
      else memset(to, 0, p->hidden * sizeof *to);
    }
  }
}

static void states_end(const Backward *f) {
  const Recurrent *p = f->p;
  for (int i = 0; i < 2; i++)
    for (size_t b = 0; b < p->batch && has_out(f->n, 5 - i); b++)
      memcpy(out_f32(f->n, 5 - i) + recurrent_state_offset(p, f->direction) + b * recurrent_state_stride(p),
             f->dstate[i] + b * p->hidden, p->hidden * sizeof(float));
}

/* ---- the weights, over all steps ---- */

static Gemm product(size_t rows, size_t columns, size_t depth, float *c, size_t c_stride) {
  return (Gemm){
      .rows = rows, .columns = columns, .depth = depth, .alpha = 1, .beta = 1, .c = c, .c_row_stride = c_stride};
}

/* dW = dgatesᵀ X, dX = dgates W summed over the directions */
static void input_gradients(const Backward *f) {
  const Recurrent *p = f->p;
  size_t gates = (size_t)p->cell->gates * p->hidden, slots = (size_t)p->cell->grad_slots * p->hidden;
  if (has_out(f->n, 1)) {
    Gemm g = product(gates, p->inputs, p->rows, out_f32(f->n, 1) + f->direction * gates * p->inputs, p->inputs);
    g.a = gemm_a(f->grad, slots, true);
    g.b = gemm_b(in_f32(f->n, RECURRENT_X), p->inputs, false);
    gemm_run(&g, f->product);
  }
  if (has_out(f->n, 0)) {
    Gemm g = product(p->rows, p->inputs, gates, out_f32(f->n, 0), p->inputs);
    g.a = gemm_a(f->grad, slots, false);
    g.b = gemm_b(in_f32(f->n, RECURRENT_W) + f->direction * gates * p->inputs, p->inputs, false);
    if (f->direction > 0) g.d = g.c, g.d_row_stride = g.c_row_stride, g.d_column_stride = 1;
    gemm_run(&g, f->product);
  }
}

/* dR = dgatesᵀ · what R multiplied */
static void state_gradients(const Backward *f) {
  const Recurrent *p = f->p;
  const RecurrentCell *cell = p->cell;
  size_t hidden = p->hidden;
  if (!has_out(f->n, 2)) return;
  float *dr = out_f32(f->n, 2) + f->direction * (size_t)cell->gates * hidden * hidden;
  for (int i = 0; i < cell->phase_count; i++) EACH_RUN(cell, &cell->phases[i], run) {
      Gemm g = product((size_t)run.count * hidden, hidden, p->rows, dr + (size_t)run.gate * hidden * hidden, hidden);
      g.a = gemm_a(f->grad + (size_t)run.slot * hidden, (size_t)cell->grad_slots * hidden, true);
      g.b = gemm_b(f->kept + (size_t)cell->phases[i].operand * hidden, (size_t)cell->slots * hidden, false);
      gemm_run(&g, f->product);
    }
}

/* to = Σ over rows of a slot's gradient */
static void sum_slot(const Backward *f, int slot, float *to) {
  const Recurrent *p = f->p;
  const float *grad = f->grad + (size_t)slot * p->hidden;
  memset(to, 0, p->hidden * sizeof *to);
  for (size_t r = 0; r < p->rows; r++, grad += (size_t)p->cell->grad_slots * p->hidden)
    for (size_t i = 0; i < p->hidden; i++) to[i] += grad[i];
}

static void bias_gradients(const Backward *f) {
  size_t gates = (size_t)f->p->cell->gates, hidden = f->p->hidden;
  if (!has_out(f->n, 3)) return;
  float *db = out_f32(f->n, 3) + f->direction * 2 * gates * hidden;
  for (size_t g = 0; g < gates; g++) {
    float *of_w = db + g * hidden, *of_r = of_w + gates * hidden;
    int result = f->p->cell->result[g];
    sum_slot(f, (int)g, of_w);
    if (result == (int)g) memcpy(of_r, of_w, hidden * sizeof *of_r);
    else sum_slot(f, result, of_r);
  }
}

/* For LSTM, with slots in the order i, o, f, c and the cell before: dPi = Σ di · c before, dPo = Σ do · c, dPf = Σ df ·
 * c before */
static void peephole_gradients(const Backward *f) {
  const Recurrent *p = f->p;
  size_t h = p->hidden;
  if (!has_out(f->n, 6)) return;
  float *dp = out_f32(f->n, 6) + f->direction * 3 * h;
  memset(dp, 0, 3 * h * sizeof *dp);
  for (size_t r = 0; r < p->rows; r++) {
    const float *kept = f->kept + r * (size_t)p->cell->slots * h, *grad = f->grad + r * (size_t)p->cell->grad_slots * h;
    for (size_t i = 0; i < h; i++) {
      float before = kept[4 * h + i], now = kept[2 * h + i] * before + kept[i] * kept[3 * h + i];
      dp[i] += grad[i] * before;
      dp[h + i] += grad[h + i] * now;
      dp[2 * h + i] += grad[2 * h + i] * before;
    }
  }
}

void recurrent_gradient_run(const Node *n) {
  Backward f = {.n = n, .p = n->params};
  lay_out(&f, &(Scratch){.base = n->scratch});
  for (f.direction = 0; f.direction < f.p->directions; f.direction++) {
    f.kept = in_f32(n, RECURRENT_KEPT) + f.direction * recurrent_kept_floats(f.p);
    pack_r(&f);
    states_begin(&f);
    steps_run(&f);
    states_end(&f);
    input_gradients(&f);
    state_gradients(&f);
    bias_gradients(&f);
    peephole_gradients(&f);
  }
}
