/* The forward checks: memory, determinism, writing in place, symbols. */
#include "opcheck.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

void case_result_free(CaseResult *r) {
  for (int i = 0; i < r->count; i++) free(r->data[i]);
  *r = (CaseResult){0};
}

void case_feed(const OpCase *c, Graph *g, Machine *m) {
  for (int i = 0; i < c->in_count; i++) {
    Value *v = c->in[i].absent || c->in[i].constant ? NULL : opcase_value(g, i);
    if (v && v->data) machine_set(m, v, c->in[i].data, c->in[i].bytes);
  }
}

static void copy_outputs(const OpCase *c, const Graph *g, CaseResult *r) {
  *r = (CaseResult){.count = opcase_outputs(c) < OUTPUTS_MAX ? opcase_outputs(c) : OUTPUTS_MAX};
  for (int i = 0; i < r->count; i++) {
    const Value *y = opcase_output(g, i);
    if (!y) continue;
    r->type[i] = y->type;
    r->shape[i] = y->shape;
    r->bytes[i] = value_bytes(y);
    r->data[i] = malloc(r->bytes[i] + 1);
    if (r->bytes[i]) memcpy(r->data[i], y->data, r->bytes[i]);
  }
}

static void check_inputs_kept(const OpCase *c, const Graph *g, int shared) {
  for (int i = 0; i < c->in_count; i++) {
    const Value *v = c->in[i].absent || i == shared ? NULL : opcase_value(g, i);
    if (v)
      check(!c->in[i].bytes || memcmp(v->data, c->in[i].data, c->in[i].bytes) == 0, "%s: run writes over input %d",
            c->key, i);
  }
}

/* shared: output 0 lies over that input, −1 for none. False when nothing came out. */
static bool run_graph(const OpCase *c, Graph *g, int fill, int shared, CaseResult *r) {
  Machine m;
  char problem[160];
  if (!machine_new(&m, g, fill, problem)) return check(false, "%s: after infer %s", c->key, problem);
  case_feed(c, g, &m);
  if (shared >= 0 && g->node_count == 1) machine_share(&m, opcase_value(g, shared));
  machine_run(&m);
  const char *overrun = machine_overrun(&m);
  check(!*overrun, "%s: run writes past the end of %s", c->key, overrun);
  if (!(c->op->flags & OP_UPDATES)) check_inputs_kept(c, g, shared);
  copy_outputs(c, g, r);
  machine_free(&m);
  return true;
}

static void check_equal(const OpCase *c, const CaseResult *a, const CaseResult *b, const char *way) {
  char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
  for (int i = 0; i < a->count; i++) {
    if (!a->data[i]) continue;
    if (!check(a->type[i] == b->type[i] && shape_equal(&a->shape[i], &b->shape[i]),
               "%s: output %d %s is %s of %s, was %s of %s", c->key, i, way, shape_print(&b->shape[i], tb),
               dtype_name(b->type[i]), shape_print(&a->shape[i], ta), dtype_name(a->type[i])))
      continue;
    size_t at = 0;
    while (at < a->bytes[i] && ((char *)a->data[i])[at] == ((char *)b->data[i])[at]) at++;
    size_t item = dtype_bytes(a->type[i]);
    if (check(at == a->bytes[i], "%s: output %d has other bits %s, first at element %zu", c->key, i, way,
              item ? at / item : at))
      continue;
  }
}

static void check_run(const OpCase *c, const CaseResult *r, int fill, int shared, const char *way) {
  Arena arena = {0};
  Error error = {0};
  CaseResult again = {0};
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  if (g && run_graph(c, g, fill, shared, &again)) check_equal(c, r, &again, way);
  case_result_free(&again);
  arena_free(&arena);
}

static void check_in_place(const OpCase *c, const CaseResult *r) {
  for (int i = 0; i < c->in_count; i++) {
    bool allowed = c->op->in_place >> i & 1 && !c->in[i].absent && !c->in[i].constant && r->data[0];
    if (!allowed || c->in[i].type != r->type[0] || !shape_equal(&c->in[i].shape, &r->shape[0])) continue;
    char way[60];
    snprintf(way, sizeof way, "written over input %d", i);
    check_run(c, r, 0xFF, i, way);
  }
}

/* A view's output is its input's bytes. */
static void check_view(const OpCase *c, const CaseResult *r) {
  if (!(c->op->flags & OP_VIEW) || !r->data[0]) return;
  bool same = r->bytes[0] == c->in[0].bytes && (!r->bytes[0] || memcmp(r->data[0], c->in[0].data, r->bytes[0]) == 0);
  check(same, "%s: OP_VIEW, but output 0 is not input 0's bytes", c->key);
}

/* The way of a training graph: inferred with symbols, cloned with their numbers. */
static void check_symbols(const OpCase *c, const CaseResult *r, Symbols symbols) {
  Arena arena = {0};
  Error error = {0};
  CaseResult again = {0};
  Graph *g = opcase_build(c, &arena, &error, symbols);
  if (check(g != NULL, "%s: with a symbol: %s", c->key, error.text)) {
    Dim *numbers = ARENA_ARRAY(&arena, Dim, g->symbol_count);
    for (int i = 0; i < g->symbol_count; i++) numbers[i] = opcase_number(c, g->symbols[i]);
    Value *wanted[OUTPUTS_MAX];
    int count = 0;
    for (int i = 0; i < opcase_outputs(c) && i < OUTPUTS_MAX; i++)
      if (opcase_output(g, i)) wanted[count++] = opcase_output(g, i);
    Graph *clone = graph_clone(g, &arena, &error, numbers, wanted, count);
    if (check(clone && error.status == STATUS_OK, "%s: cloned with numbers: %s", c->key, error.text) &&
        run_graph(c, clone, 0xFF, -1, &again))
      check_equal(c, r, &again, "through a clone");
  }
  case_result_free(&again);
  arena_free(&arena);
}

bool check_forward(const OpCase *c, CaseResult *result) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  bool ran = check(g != NULL, "%s: %s", c->key, error.text) && run_graph(c, g, 0, -1, result);
  arena_free(&arena);
  if (!ran) return false;
  check_run(c, result, 0xFF, -1, "in dirty memory");
  check_in_place(c, result);
  check_view(c, result);
  if (opcase_symbols(c)) check_symbols(c, result, opcase_symbols(c));
  return true;
}
