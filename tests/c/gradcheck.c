/* Gradients against central differences: L(x) = Σ y · dy, dL along a direction d = Σ dx · d. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "opcheck.h"
#include "graph/backward.h"

typedef struct Probe {
  const OpCase *c;
  int output; /* whose gradient flows */
  Arena arena;
  Error error;
  Graph *g;
  Value *grads[OPCASE_INPUTS]; /* per input */
} Probe;

float case_dy(int output, size_t i) {
  double u = batch_signed(1000 + (uint32_t)output, i);
  return (float)(u < 0 ? u - 0.25 : u + 0.25);
}

static bool is_probed(const OpCase *c, int i) {
  return !c->in[i].absent && !c->in[i].constant && c->in[i].type == DTYPE_FLOAT32;
}

/* The graph with its gradient towards the inputs in `mask`; false with error set when an operator refuses. */
static bool probe_build(Probe *p, unsigned mask, Symbols symbols) {
  Value *wrt[OPCASE_INPUTS], *grads[OPCASE_INPUTS] = {0};
  int index[OPCASE_INPUTS], count = 0;
  if (!(p->g = opcase_build(p->c, &p->arena, &p->error, symbols))) return false;
  for (int i = 0; i < p->c->in_count; i++)
    if (mask >> i & 1) index[count] = i, wrt[count++] = opcase_value(p->g, i);
  Value *y = opcase_output(p->g, p->output);
  Value *dy = graph_value(p->g, "dy", DTYPE_FLOAT32, &y->shape, VALUE_INPUT);
  if (!dy || backward(p->g, y, dy, wrt, count, grads) != STATUS_OK) return false;
  for (int k = 0; k < count; k++) p->grads[index[k]] = grads[k];
  return true;
}

/* Replaces the graph by its clone with the number for N. */
static bool probe_clone(Probe *p) {
  Value *wanted[OPCASE_INPUTS];
  int index[OPCASE_INPUTS], count = 0;
  Dim *numbers = ARENA_ARRAY(&p->arena, Dim, p->g->symbol_count);
  for (int i = 0; i < p->g->symbol_count; i++) numbers[i] = opcase_number(p->c, p->g->symbols[i]);
  const Value *dy = graph_find(p->g, "dy");
  const Graph *numeric = opcase_build(p->c, &p->arena, &p->error, SYMBOLS_NONE);
  for (int i = 0; dy && numeric && i < dy->shape.rank;
       i++) /* dims that infer made up: dy is fed here, a loss would compute it */
    if (dim_is_symbol(dy->shape.dim[i]))
      numbers[dim_symbol(dy->shape.dim[i])] = opcase_output(numeric, p->output)->shape.dim[i];
  for (int i = 0; i < p->c->in_count; i++)
    if (p->grads[i]) index[count] = i, wanted[count++] = p->grads[i];
  if (!(p->g = graph_clone(p->g, &p->arena, &p->error, numbers, wanted, count))) return false;
  for (int k = 0; k < count; k++) p->grads[index[k]] = wanted[k]->copy;
  return p->error.status == STATUS_OK;
}

static void feed_dy(const Probe *p, Machine *m) {
  Value *dy = graph_find(p->g, "dy");
  (void)m;
  for (size_t i = 0; dy && i < shape_elements(&dy->shape); i++) ((float *)dy->data)[i] = case_dy(p->output, i);
  for (int k = 0; k < OUTPUTS_MAX && p->output < 0; k++) {
    char name[] = {'d', 'y', (char)('0' + k), 0};
    dy = graph_find(p->g, name);
    for (size_t i = 0; dy && i < shape_elements(&dy->shape); i++) ((float *)dy->data)[i] = case_dy(k, i);
  }
}

/* Runs forward and backward; copies the gradients out. */
static bool probe_run(Probe *p, float *out[OPCASE_INPUTS]) {
  Machine m;
  char problem[160];
  if (!machine_new(&m, p->g, 0xFF, problem)) return check(false, "%s: in its gradient %s", p->c->key, problem);
  case_feed(p->c, p->g, &m);
  feed_dy(p, &m);
  machine_run(&m);
  const char *overrun = machine_overrun(&m);
  check(!*overrun, "%s: its gradient writes past the end of %s", p->c->key, overrun);
  for (int i = 0; i < p->c->in_count; i++) {
    out[i] = NULL;
    if (!p->grads[i]) continue;
    const CaseInput *in = &p->c->in[i];
    char got[SHAPE_TEXT], want[SHAPE_TEXT];
    bool fits = p->grads[i]->type == in->type && shape_equal(&p->grads[i]->shape, &in->shape);
    check(fits, "%s: the gradient of input %d is %s, the input %s", p->c->key, i, shape_print(&p->grads[i]->shape, got),
          shape_print(&in->shape, want));
    if (!fits) continue;
    out[i] = malloc(in->bytes + 1);
    if (in->bytes) memcpy(out[i], p->grads[i]->data, in->bytes);
  }
  machine_free(&m);
  return true;
}

static void grads_free(float *grads[OPCASE_INPUTS]) {
  for (int i = 0; i < OPCASE_INPUTS; i++) free(grads[i]), grads[i] = NULL;
}

/* Gradients towards `mask`; false when backward refuses (reported unless the operator itself may, and not what it
 * emits) or something is wrong. */
static bool gradients(const OpCase *c, int output, unsigned mask, Symbols symbols, bool may_refuse,
                      float *out[OPCASE_INPUTS]) {
  Probe p = {.c = c, .output = output};
  for (int i = 0; i < OPCASE_INPUTS; i++) out[i] = NULL;
  bool built = probe_build(&p, mask, symbols) && (!symbols || probe_clone(&p));
  bool refused = p.error.status == STATUS_UNSUPPORTED_OP && strstr(p.error.text, "'tested': ");
  if (!built && !(may_refuse && refused))
    check(false, "%s: its gradient%s: %s", c->key, symbols ? " with a symbol" : "", p.error.text);
  bool ran = built && probe_run(&p, out);
  arena_free(&p.arena);
  return ran;
}

/* ---- differences ---- */

/* L at the case's inputs, input i moved by h·d; mean_size gets Σ |y · dy|. Accumulates the moves themselves in `moved`.
 */
static double loss_at(const OpCase *c, int output, int input, double h, uint32_t seed, float *moved, double *size) {
  Arena arena = {0};
  Error error = {0};
  Machine m;
  char problem[160];
  double loss = 0;
  *size = 0;
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  if (!g || !machine_new(&m, g, 0, problem)) return arena_free(&arena), NAN;
  case_feed(c, g, &m);
  float *x = opcase_value(g, input)->data;
  for (size_t i = 0; i < c->in[input].count; i++) moved[i] = x[i] += (float)(h * batch_signed(seed, i));
  machine_run(&m);
  const Value *y = opcase_output(g, output);
  for (size_t i = 0; i < shape_elements(&y->shape); i++) {
    double term = (double)((float *)y->data)[i] * case_dy(output, i);
    loss += term;
    *size += fabs(term);
  }
  machine_free(&m);
  arena_free(&arena);
  return loss;
}

typedef struct Slope {
  double by_differences, by_gradient, allowed;
} Slope;

static Slope slope(const OpCase *c, int output, int input, const float *dx, double h, uint32_t seed) {
  size_t n = c->in[input].count;
  float *right = malloc(n * sizeof *right + 1), *left = malloc(n * sizeof *left + 1);
  double size_right, size_left, length = 0, along = 0;
  double up = loss_at(c, output, input, h, seed, right, &size_right);
  double down = loss_at(c, output, input, -h, seed, left, &size_left);
  for (size_t i = 0; dx && i < n; i++) {
    double step = ((double)right[i] - left[i]) / (2 * h);
    along += dx[i] * step;
    length += dx[i] * step * dx[i] * step;
  }
  free(right);
  free(left);
  Slope s = {.by_differences = (up - down) / (2 * h), .by_gradient = along};
  double noise = 4e-8 * (size_right + size_left) / h; /* float32 rounding of y */
  s.allowed = 1e-2 * fabs(s.by_differences) + 2e-3 * sqrt(length) + noise + 1e-6;
  return s;
}

static bool slope_fits(const Slope *s) { return fabs(s->by_differences - s->by_gradient) <= s->allowed; }

/* A kink between the two points spoils a difference, a step too small drowns in rounding: one of three steps must fit.
 */
static void check_slopes(const OpCase *c, int output, int input, const float *dx) {
  static const double steps[] = {3e-3, 1e-3, 1e-2};
  for (uint32_t seed = 1; seed <= 2; seed++) {
    Slope s = {0}, first = {0};
    bool fits = false;
    for (int k = 0; k < 3 && !fits; k++) {
      s = slope(c, output, input, dx, steps[k], seed);
      if (k == 0) first = s;
      fits = slope_fits(&s);
    }
    if (!check(fits, "%s: gradient of output %d towards input %d: differences give %.6g, %s %.6g", c->key, output,
               input, first.by_differences, dx ? "backward" : "and no gradient flows, so", first.by_gradient))
      return;
  }
}

static double largest(const float *x, size_t n) {
  double m = 0;
  for (size_t i = 0; i < n; i++) m = fmax(m, fabs((double)x[i]));
  return m;
}

static void check_close(const OpCase *c, int i, const float *a, const float *b, const char *way) {
  if (!check(!a == !b, "%s: the gradient of input %d is there or not, %s", c->key, i, way) || !a) return;
  double allowed = 2e-6 * largest(a, c->in[i].count) + 1e-30, worst = 0;
  for (size_t k = 0; k < c->in[i].count; k++) worst = fmax(worst, fabs((double)a[k] - b[k]));
  check(worst <= allowed, "%s: the gradient of input %d differs by %.3g %s", c->key, i, worst, way);
}

/* The same numbers when only one input wants a gradient, and through symbols. */
static void check_ways(const OpCase *c, int output, unsigned mask, float *const all[OPCASE_INPUTS]) {
  float *other[OPCASE_INPUTS] = {0};
  for (int i = 0; i < c->in_count && mask & (mask - 1); i++) {
    if (!(mask >> i & 1)) continue;
    if (gradients(c, output, 1u << i, SYMBOLS_NONE, false, other))
      check_close(c, i, all[i], other[i], "when it alone is wanted");
    grads_free(other);
  }
  Symbols symbols = opcase_symbols(c);
  if (symbols && gradients(c, output, mask, symbols, false, other))
    for (int i = 0; i < c->in_count; i++)
      if (mask >> i & 1) check_close(c, i, all[i], other[i], "with a symbol");
  grads_free(other);
}

/* Gradients of Σ over the outputs in `outputs` of Σ y · dy: what each gives alone, added up. */
static void check_together(const OpCase *c, unsigned outputs, unsigned mask, float *const *sum) {
  Probe p = {.c = c, .output = -1};
  Value *wrt[OPCASE_INPUTS], *grads[OPCASE_INPUTS] = {0}, *loss = NULL, *dy[OUTPUTS_MAX] = {0};
  int index[OPCASE_INPUTS], count = 0;
  float *out[OPCASE_INPUTS] = {0};
  p.g = opcase_build(c, &p.arena, &p.error, SYMBOLS_NONE);
  for (int i = 0; p.g && i < c->in_count; i++)
    if (mask >> i & 1) index[count] = i, wrt[count++] = opcase_value(p.g, i);
  for (int k = 0; p.g && k < OUTPUTS_MAX; k++) {
    if (!(outputs >> k & 1)) continue;
    char name[] = {'d', 'y', (char)('0' + k), 0};
    Value *y = opcase_output(p.g, k);
    dy[k] = graph_value(p.g, arena_copy_text(&p.arena, name), DTYPE_FLOAT32, &y->shape, VALUE_INPUT);
    Value *part = emit_with(p.g, "ReduceSum", ATTRS(attr_of_int("keepdims", 0)), emit(p.g, "Mul", y, dy[k]));
    loss = loss ? emit(p.g, "Add", loss, part) : part;
  }
  bool written = loss && backward(p.g, loss, emit_float(p.g, 1), wrt, count, grads) == STATUS_OK;
  for (int k = 0; k < count; k++) p.grads[index[k]] = grads[k];
  if (check(written, "%s: its gradient of all outputs: %s", c->key, p.error.text) && probe_run(&p, out))
    for (int i = 0; i < c->in_count; i++)
      if (mask >> i & 1) check_close(c, i, sum[i], out[i], "when all outputs have one");
  grads_free(out);
  arena_free(&p.arena);
}

static int output_count(const OpCase *c, bool is_float[OUTPUTS_MAX]) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  int count = g ? opcase_outputs(c) : 0;
  if (count > OUTPUTS_MAX) count = OUTPUTS_MAX;
  for (int i = 0; i < count; i++) is_float[i] = opcase_output(g, i) && opcase_output(g, i)->type == DTYPE_FLOAT32;
  arena_free(&arena);
  return count;
}

/* sum += x; what is NULL is 0. */
static void add_to(float **sum, const float *x, size_t count) {
  if (x && !*sum) *sum = calloc(count + 1, sizeof **sum);
  for (size_t i = 0; x && i < count; i++) (*sum)[i] += x[i];
}

void check_gradient(const OpCase *c, float *grads[OPCASE_INPUTS]) {
  bool is_float[OUTPUTS_MAX];
  unsigned mask = 0;
  for (int i = 0; i < OPCASE_INPUTS; i++) grads[i] = NULL;
  for (int i = 0; i < c->in_count; i++) mask |= (unsigned)is_probed(c, i) << i;
  int outputs = mask ? output_count(c, is_float) : 0;
  if (outputs > 1 && c->op->flags & OP_FIRST_ALONE) outputs = 1; /* every other one must pass it on or refuse */
  unsigned flowing = 0;
  float *sum[OPCASE_INPUTS] = {0};
  for (int k = 0; k < outputs; k++) {
    float *here[OPCASE_INPUTS] = {0};
    /* An operator may say that outputs after the first have no gradient. */
    if (!is_float[k] || !gradients(c, k, mask, SYMBOLS_NONE, k > 0, here)) continue;
    for (int i = 0; i < c->in_count; i++)
      if (mask >> i & 1 && !c->text->kink) check_slopes(c, k, i, here[i]);
    check_ways(c, k, mask, here);
    flowing |= 1u << k;
    for (int i = 0; i < c->in_count; i++) add_to(&sum[i], here[i], c->in[i].count);
    if (k == 0) memcpy(grads, here, sizeof here);
    else grads_free(here);
  }
  if (flowing & (flowing - 1)) check_together(c, flowing, mask, sum);
  grads_free(sum);
}
