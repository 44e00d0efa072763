/* Recurrent, forward: all steps' products with W, then step by step. */
#include "ops/recurrent/recurrent.h"

#include <string.h>

#include "kernels/recurrent_product.h"
#include "kernels/scratch.h"
#include "ops/index/index.h"
#include "size.h"

typedef struct Forward {
  const Node *n;
  const Recurrent *p;
  float *kept, *packed_r, *packed_h, *last[2], *bias; /* last: c, h after the last step */
  char *product;                                      /* scratch of products */
  size_t thread_bytes;
  const float *recurrent_bias;
  size_t direction, t;
  RecurrentStep step;
  const RecurrentPhase *phase;
  size_t at_once;
} Forward;

static bool lay_out(Forward *f, Scratch *s) {
  const Recurrent *p = f->p;
  int kept = 1 + p->cell->states;
  size_t gates = (size_t)p->cell->gates;
  f->kept = has_out(f->n, kept) ? NULL : scratch_take(s, p->rows, (size_t)p->cell->slots * p->hidden, sizeof(float));
  f->packed_r = scratch_take(s, gates, recurrent_packed_floats(p->hidden, p->hidden), sizeof(float));
  f->packed_h = scratch_take(s, p->batch, p->hidden, sizeof(float));
  for (int i = 0; i < 2; i++) f->last[i] = scratch_take(s, p->batch, p->hidden, sizeof(float));
  f->bias = scratch_take(s, gates, p->hidden, sizeof(float));
  f->thread_bytes = gemm_alone_bytes(0, RECURRENT_PANEL, p->hidden);
  size_t one = gemm_scratch_bytes(p->rows, gates * p->hidden, p->inputs),
         other = f->thread_bytes * (size_t)threads_count();
  f->product = scratch_take(s, size_max(one, other), 1, 1);
  return !s->overflow;
}

bool recurrent_forward_bytes(const Node *n, size_t *bytes) {
  Forward f = {.n = n, .p = n->params};
  Scratch s = {0};
  bool fits = lay_out(&f, &s);
  *bytes = s.used;
  return fits;
}

/* The bias that is added to X Wᵀ: both biases, but only W's for a gate whose product with R is kept separate. */
static const float *sum_bias(Forward *f) {
  const Recurrent *p = f->p;
  size_t gates = (size_t)p->cell->gates, hidden = p->hidden;
  f->recurrent_bias = NULL;
  if (!has_in(f->n, RECURRENT_B)) return NULL;
  const float *b = in_f32(f->n, RECURRENT_B) + f->direction * 2 * gates * hidden;
  f->recurrent_bias = b + gates * hidden;
  for (size_t g = 0; g < gates; g++) {
    bool apart = p->cell->result[g] != (int)g;
    for (size_t i = g * hidden; i < (g + 1) * hidden; i++) f->bias[i] = apart ? b[i] : b[i] + f->recurrent_bias[i];
  }
  return f->bias;
}

/* gates = X Wᵀ + bias */
static void input_product(Forward *f) {
  const Recurrent *p = f->p;
  size_t gates = (size_t)p->cell->gates * p->hidden;
  Gemm g = {.rows = p->rows, .columns = gates, .depth = p->inputs, .alpha = 1, .beta = 1};
  g.a = gemm_a(in_f32(f->n, RECURRENT_X), p->inputs, false);
  g.b = gemm_b(in_f32(f->n, RECURRENT_W) + f->direction * gates * p->inputs, p->inputs, true);
  g.d = sum_bias(f);
  g.d_column_stride = 1;
  g.c = f->kept;
  g.c_row_stride = (size_t)p->cell->slots * p->hidden;
  gemm_run(&g, f->product);
}

static void pack_r(Forward *f) {
  size_t hidden = f->p->hidden, gates = (size_t)f->p->cell->gates;
  const float *r = in_f32(f->n, RECURRENT_R) + f->direction * gates * hidden * hidden;
  for (size_t g = 0; g < gates; g++) {
    GemmSource source = gemm_b(r + g * hidden * hidden, hidden, true);
    recurrent_pack(&source, hidden, hidden, f->packed_r + g * recurrent_packed_floats(hidden, hidden));
  }
}

/* A gate's product with R, for some panels of units. */
static void gate_product(const Forward *f, int gate, size_t from, size_t to, int thread) {
  const Recurrent *p = f->p;
  int result = p->cell->result[gate];
  RecurrentProduct g = {.rows = p->batch, .columns = p->hidden, .depth = p->hidden, .packed_a = f->packed_h};
  g.packed_b = f->packed_r + (size_t)gate * recurrent_packed_floats(p->hidden, p->hidden);
  g.c = recurrent_slot(&f->step, 0, result);
  g.c_stride = f->step.kept_stride;
  if (result == gate) g.d = g.c, g.d_stride = g.c_stride;
  else if (f->recurrent_bias) g.d = f->recurrent_bias + (size_t)gate * p->hidden;
  recurrent_product(&g, from, to, f->product + (size_t)thread * f->thread_bytes);
}

/* The state goes on as it is. */
static void skip_units(const RecurrentStep *s, size_t b, size_t from, size_t count) {
  int slots = s->p->cell->slots;
  memcpy(s->h + b * s->h_stride + from, recurrent_slot(s, b, slots - 1) + from, count * sizeof(float));
  if (s->c) memcpy(s->c + b * s->h_stride + from, recurrent_slot(s, b, slots - 2) + from, count * sizeof(float));
}

static void store_y(const Forward *f, size_t b, size_t from, size_t count, bool over) {
  const Recurrent *p = f->p;
  if (!has_out(f->n, 0)) return;
  size_t row = p->batch_first ? (b * p->steps + f->t) * p->directions + f->direction
                              : (f->t * p->directions + f->direction) * p->batch + b;
  float *y = out_f32(f->n, 0) + row * p->hidden + from;
  if (over) memset(y, 0, count * sizeof *y);
  else memcpy(y, f->step.h + b * f->step.h_stride + from, count * sizeof *y);
}

static void units_run(void *context, size_t chunk, int thread) {
  const Forward *f = context;
  const Recurrent *p = f->p;
  size_t panels = recurrent_panels(p->hidden), from = chunk * f->at_once,
         to = from + f->at_once < panels ? from + f->at_once : panels;
  for (int g = f->phase->gate; g < f->phase->gate + f->phase->gates; g++) gate_product(f, g, from, to, thread);
  bool last = f->phase == &p->cell->phases[p->cell->phase_count - 1];
  size_t unit = from * RECURRENT_PANEL, end = to * RECURRENT_PANEL < p->hidden ? to * RECURRENT_PANEL : p->hidden;
  for (size_t b = 0; b < p->batch; b++) {
    bool over = recurrent_over(f->n, p, f->t, b);
    if (!over) f->phase->forward(&f->step, b, unit, end - unit);
    else if (last) skip_units(&f->step, b, unit, end - unit);
    else memset(recurrent_slot(&f->step, b, p->cell->phases[1].operand) + unit, 0, (end - unit) * sizeof(float));
    if (last) store_y(f, b, unit, end - unit, over);
  }
}

static void phase_run(Forward *f, const RecurrentPhase *phase) {
  const Recurrent *p = f->p;
  GemmSource operand = gemm_a(recurrent_slot(&f->step, 0, phase->operand), f->step.kept_stride, false);
  gemm_pack_a(&operand, p->batch, p->hidden, f->packed_h);
  f->phase = phase;
  f->at_once = recurrent_panels_at_once(p->batch, p->hidden * (size_t)phase->gates);
  threads_run(ceil_div(recurrent_panels(p->hidden), f->at_once), units_run, f);
}

static float *slot_at(const Forward *f, size_t t, int slot) {
  const Recurrent *p = f->p;
  return f->kept + (t * p->row_of_step * (size_t)p->cell->slots + (size_t)slot) * p->hidden;
}

static void copy_rows(float *to, size_t to_stride, const float *from, size_t from_stride, size_t rows, size_t count) {
  for (size_t b = 0; b < rows; b++) {
    if (from) memcpy(to + b * to_stride, from + b * from_stride, count * sizeof(float));
    else memset(to + b * to_stride, 0, count * sizeof(float));
  }
}

/* State 0 is c where there are two, h is the last; h is input RECURRENT_H and output 1. */
static void states_begin(const Forward *f, size_t first) {
  const Recurrent *p = f->p;
  for (int i = 0; i < p->cell->states; i++) {
    int input = i == p->cell->states - 1 ? RECURRENT_H : RECURRENT_C;
    const float *initial = has_in(f->n, input) ? in_f32(f->n, input) + recurrent_state_offset(p, f->direction) : NULL;
    float *to = p->steps ? slot_at(f, first, p->cell->slots - p->cell->states + i) : f->last[i];
    copy_rows(to, p->steps ? f->step.kept_stride : p->hidden, initial, recurrent_state_stride(p), p->batch, p->hidden);
  }
}

static void states_end(const Forward *f) {
  const Recurrent *p = f->p;
  for (int i = 0; i < p->cell->states; i++) {
    int output = p->cell->states - i;
    if (has_out(f->n, output))
      copy_rows(out_f32(f->n, output) + recurrent_state_offset(p, f->direction), recurrent_state_stride(p), f->last[i],
                p->hidden, p->batch, p->hidden);
  }
}

static void step_run(Forward *f, size_t t, size_t next, bool last) {
  const Recurrent *p = f->p;
  RecurrentStep *s = &f->step;
  int slots = p->cell->slots, states = p->cell->states;
  f->t = t;
  s->kept = slot_at(f, t, 0);
  s->h = last ? f->last[states - 1] : slot_at(f, next, slots - 1);
  s->c = states == 1 ? NULL : last ? f->last[0] : slot_at(f, next, slots - 2);
  s->h_stride = last ? p->hidden : s->kept_stride;
  for (int i = 0; i < p->cell->phase_count; i++) phase_run(f, &p->cell->phases[i]);
}

static void direction_run(Forward *f) {
  const Recurrent *p = f->p;
  bool reversed = recurrent_reversed(p, f->direction);
  f->step = (RecurrentStep){.p = p, .activations = p->activations + f->direction * (size_t)p->cell->activations};
  if (has_in(f->n, RECURRENT_P)) f->step.peepholes = in_f32(f->n, RECURRENT_P) + f->direction * 3 * p->hidden;
  f->step.kept_stride = p->row_of_example * (size_t)p->cell->slots * p->hidden;
  input_product(f);
  pack_r(f);
  states_begin(f, reversed ? p->steps - 1 : 0);
  for (size_t i = 0; i < p->steps; i++)
    step_run(f, reversed ? p->steps - 1 - i : i, reversed ? p->steps - 2 - i : i + 1, i + 1 == p->steps);
  states_end(f);
}

void recurrent_run(const Node *n) {
  Forward f = {.n = n, .p = n->params};
  if (has_in(n, RECURRENT_LENGTHS) && !index_all_within(n, RECURRENT_LENGTHS, (int64_t)f.p->steps)) return;
  int kept = 1 + f.p->cell->states;
  lay_out(&f, &(Scratch){.base = n->scratch});
  float *first = has_out(n, kept) ? out_f32(n, kept) : NULL;
  for (f.direction = 0; f.direction < f.p->directions; f.direction++) {
    if (first) f.kept = first + f.direction * recurrent_kept_floats(f.p);
    direction_run(&f);
  }
}
