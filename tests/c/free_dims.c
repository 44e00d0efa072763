/* Free dims: every case of every operator with symbols for dims, bound to the case's numbers afterwards, gives the
 * outputs and gradients of the graph that had these numbers from the beginning.
 *
 *   test_free_dims [Op …]   all operators, or those named
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "opcheck.h"
#include "graph/backward.h"
#include "ops/ops.h"

enum { TENSORS_MAX = OUTPUTS_MAX + OPCASE_INPUTS };

static int runs, gradients;

/* Outputs, then gradients by input. */
typedef struct Tensors {
  Shape shape[TENSORS_MAX];
  DType type[TENSORS_MAX];
  void *data[TENSORS_MAX];
} Tensors;

typedef struct Probe {
  const OpCase *c;
  Arena arena;
  Error error;
  Graph *g;
  unsigned from; /* bit k: a gradient arrives at output k */
  Value *wanted[TENSORS_MAX];
} Probe;

static void tensors_free(Tensors *t) {
  for (int i = 0; i < TENSORS_MAX; i++) free(t->data[i]);
}

/* The graph with gradients from the outputs of `from` towards each fed float. */
static bool build(Probe *p, Symbols symbols) {
  Value *xs[OPCASE_INPUTS], *dxs[OPCASE_INPUTS] = {0}, *ys[OUTPUTS_MAX], *dys[OUTPUTS_MAX];
  int index[OPCASE_INPUTS], x_count = 0, y_count = 0;
  if (!(p->g = opcase_build(p->c, &p->arena, &p->error, symbols))) return false;
  for (int k = 0; k < opcase_outputs(p->c) && k < OUTPUTS_MAX; k++) {
    p->wanted[k] = opcase_output(p->g, k);
    if (!(p->from >> k & 1)) continue;
    char name[] = {'d', 'y', (char)('0' + k), 0};
    ys[y_count] = p->wanted[k];
    dys[y_count++] = graph_value(p->g, arena_copy_text(&p->arena, name), DTYPE_FLOAT32, &p->wanted[k]->shape,
                                 VALUE_INPUT);
  }
  for (int i = 0; i < p->c->in_count && y_count; i++)
    if (opcase_is_fed(p->c, i) && p->c->in[i].type == DTYPE_FLOAT32)
      index[x_count] = i, xs[x_count++] = opcase_value(p->g, i);
  if (!x_count || !y_count) return true;
  if (backward_from(p->g, ys, dys, y_count, xs, x_count, dxs) != STATUS_OK) return false;
  for (int i = 0; i < x_count; i++) p->wanted[OUTPUTS_MAX + index[i]] = dxs[i];
  return true;
}

static const char *dy_name(int k) {
  static const char *const names[OUTPUTS_MAX] = {"dy0", "dy1", "dy2", "dy3", "dy4", "dy5", "dy6", "dy7"};
  return names[k];
}

/* Replaces the graph by its clone with numbers; dy has the shape that the output has in `fixed`. */
static bool bind(Probe *p, const Tensors *fixed) {
  Value *outputs[TENSORS_MAX], pins[OUTPUTS_MAX];
  int count = 0;
  Dim *numbers = ARENA_ARRAY(&p->arena, Dim, p->g->symbol_count);
  for (int i = 0; i < p->g->symbol_count; i++) numbers[i] = opcase_number(p->c, p->g->symbols[i]);
  for (int k = 0; k < OUTPUTS_MAX; k++) {
    Value *dy = graph_find(p->g, dy_name(k));
    if (!dy) continue;
    pins[k] = (Value){.kind = VALUE_INPUT, .type = DTYPE_FLOAT32, .shape = fixed->shape[k]};
    dy->pin = &pins[k];
  }
  for (int i = 0; i < TENSORS_MAX; i++)
    if (p->wanted[i]) outputs[count++] = p->wanted[i];
  if (!(p->g = graph_clone(p->g, &p->arena, &p->error, numbers, outputs, count))) return false;
  for (int i = 0; i < TENSORS_MAX; i++)
    if (p->wanted[i]) p->wanted[i] = p->wanted[i]->copy;
  return p->error.status == STATUS_OK;
}

static bool run(Probe *p, Tensors *out) {
  Machine m;
  char problem[160];
  if (!machine_new(&m, p->g, 0xFF, problem)) return check(false, "%s: %s", p->c->key, problem);
  case_feed(p->c, p->g, &m);
  for (int k = 0; k < OUTPUTS_MAX; k++) {
    const Value *dy = graph_find(p->g, dy_name(k));
    for (size_t i = 0; dy && i < shape_elements(&dy->shape); i++) ((float *)dy->data)[i] = case_dy(k, i);
  }
  machine_run(&m);
  for (int i = 0; i < TENSORS_MAX; i++) {
    const Value *v = p->wanted[i];
    if (!v) continue;
    size_t bytes = value_bytes(v);
    out->shape[i] = v->shape;
    out->type[i] = v->type;
    out->data[i] = malloc(bytes + 1);
    if (bytes) memcpy(out->data[i], v->data, bytes);
  }
  machine_free(&m);
  return true;
}

static bool close_to(const float *a, const float *b, size_t n) {
  double largest = 0, worst = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, isfinite(a[i]) ? fabs((double)a[i]) : 0);
  for (size_t i = 0; i < n; i++) worst = fmax(worst, isfinite(a[i]) ? fabs((double)a[i] - b[i]) : 0);
  return worst <= 2e-6 * largest;
}

static void compare(const OpCase *c, const char *way, const Tensors *fixed, const Tensors *freed) {
  char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
  for (int i = 0; i < TENSORS_MAX; i++) {
    bool is_output = i < OUTPUTS_MAX;
    const char *what = is_output ? "output" : "the gradient of input";
    int at = is_output ? i : i - OUTPUTS_MAX;
    if (!check(!fixed->data[i] == !freed->data[i], "%s: %s: %s %d is there or not", c->key, way, what, at)) continue;
    if (!fixed->data[i] || !check(shape_equal(&fixed->shape[i], &freed->shape[i]) && fixed->type[i] == freed->type[i],
                                  "%s: %s: %s %d is %s, not %s", c->key, way, what, at,
                                  shape_print(&freed->shape[i], ta), shape_print(&fixed->shape[i], tb)))
      continue;
    size_t count = shape_elements(&fixed->shape[i]), bytes = count * dtype_bytes(fixed->type[i]);
    bool same = !bytes || memcmp(fixed->data[i], freed->data[i], bytes) == 0;
    if (!same && !is_output) same = close_to(fixed->data[i], freed->data[i], count);
    check(same, "%s: %s: %s %d differs", c->key, way, what, at);
  }
}

static void check_freed(const OpCase *c, const char *way, Symbols symbols, unsigned from, const Tensors *fixed) {
  Probe p = {.c = c, .from = from};
  Tensors freed = {0};
  runs++;
  gradients += from != 0;
  if (check(build(&p, symbols) && bind(&p, fixed), "%s: %s: %s", c->key, way, p.error.text) && run(&p, &freed))
    compare(c, way, fixed, &freed);
  tensors_free(&freed);
  arena_free(&p.arena);
}

static bool run_fixed(const OpCase *c, unsigned from, Tensors *out) {
  Probe p = {.c = c, .from = from};
  bool ran = build(&p, SYMBOLS_NONE) && run(&p, out);
  arena_free(&p.arena);
  return ran;
}

static unsigned float_outputs(const OpCase *c, const Tensors *fixed) {
  unsigned from = 0;
  int most = c->op->flags & OP_FIRST_ALONE ? 1 : OUTPUTS_MAX;
  for (int k = 0; k < most; k++) from |= (unsigned)(fixed->data[k] && fixed->type[k] == DTYPE_FLOAT32) << k;
  return from;
}

static void check_case(OpCase *c) {
  Tensors forward = {0}, both = {0};
  if (!check(run_fixed(c, 0, &forward), "%s: cannot run", c->key)) return;
  unsigned from = float_outputs(c, &forward);
  if (from && !run_fixed(c, from, &both)) from &= 1;
  if (from == 1 && !both.data[0] && !run_fixed(c, from, &both)) from = 0;
  bool any = false;
  for (int i = OUTPUTS_MAX; i < TENSORS_MAX; i++) any |= both.data[i] != NULL;
  if (!any) from = 0;
  const Tensors *fixed = from ? &both : &forward;
  c->rank = &fixed->shape[0].rank; /* GatherND needs it where the last dim of its indices is free */
  check_freed(c, "equal dims as one symbol", SYMBOLS_ALL, from, fixed);
  check_freed(c, "all dims free", SYMBOLS_APART, from, fixed);
  if (!(c->op->flags & OP_RANDOM)) /* Dropout drops nothing there */
    check_freed(c, "all dims free, in a session that only runs", SYMBOLS_DEFERRED, 0, &forward);
  for (int i = 0; i < c->in_count; i++)
    for (int d = 0; d < c->in[i].shape.rank && opcase_is_fed(c, i); d++) {
      char way[60];
      snprintf(way, sizeof way, "dim %d of input %d free", d, i);
      check_freed(c, way, SYMBOLS_EACH + RANK_MAX * i + d, from, fixed);
    }
  tensors_free(&forward);
  tensors_free(&both);
}

static void check_op(const void *argument) {
  const Op *op = argument;
  for (const Case *text = op->cases; text && text->in; text++) {
    OpCase c;
    if (check(opcase_parse(op, text, &c), "%s: %s", c.key, c.problem)) check_case(&c);
    opcase_free(&c);
  }
}

static bool is_wanted(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return true;
  return count == 0;
}

/* Passes make it, of graphs that have numbers. */
static bool is_of_bound_graphs(const Op *op) { return op == &op_weight_only_mat_mul; }

int main(int argc, char **argv) {
  for (int i = 0; op_at(i); i++)
    if (is_wanted(op_at(i)->name, argc - 1, argv + 1) && !is_of_bound_graphs(op_at(i)))
      test_run(op_at(i)->name, check_op, op_at(i));
  printf("%d runs, %d with gradients\n", runs, gradients);
  return test_finish();
}
