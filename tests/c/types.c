/* Every float type that an operator accepts gives float32's numbers, as far as the type holds them: every case of
 * float32 is run in each. And gradients flow through them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels/number.h"
#include "opcheck.h"
#include "graph/backward.h"
#include "ops/ops.h"

static const struct {
  DType type;
  double unit; /* rounding, relative */
} floats[] = {{DTYPE_FLOAT64, 0x1p-24}, {DTYPE_FLOAT16, 0x1p-11}, {DTYPE_BFLOAT16, 0x1p-8}};
enum { FLOATS = sizeof floats / sizeof *floats };

static double number_at(const void *data, DType type, size_t i) {
  Numbers x;
  numbers_load(&x, data, type, i, 1, 1);
  return dtype_is_float(type) ? *x.floats : (double)*x.ints;
}

static void *cast(OpCase *c, const void *data, size_t count, DType from, DType to) {
  void *copy = arena_alloc(&c->arena, 8 * count + 8);
  for (size_t i = 0; copy && i < count; i++) {
    Numbers x = {.floats = {number_at(data, from, i)}};
    numbers_store_floats(&x, copy, to, i, 1);
  }
  return copy;
}

/* c with its float32 inputs of another type; in c itself they become what that type holds of them. */
static OpCase of_type(OpCase *c, DType type, bool floats_alone) {
  OpCase other = *c;
  for (int i = 0; i < c->in_count; i++) {
    if (c->in[i].absent || c->in[i].type != DTYPE_FLOAT32 || (floats_alone && i)) continue;
    CaseInput *in = &other.in[i];
    in->type = type;
    in->bytes = in->count * dtype_bytes(type);
    in->data = cast(c, c->in[i].data, in->count, DTYPE_FLOAT32, type);
    c->in[i].data = cast(c, in->data, in->count, type, DTYPE_FLOAT32);
  }
  return other;
}

/* The outputs as they are after one run; false when the operator refuses. */
static bool run(const OpCase *c, CaseResult *r) {
  Arena arena = {0};
  Error error = {0};
  Machine m;
  char problem[160];
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  bool ran = g && check(machine_new(&m, g, 0, problem), "%s: %s", c->key, problem);
  if (ran) {
    case_feed(c, g, &m);
    machine_run(&m);
    r->count = opcase_outputs(c);
    for (int i = 0; i < r->count; i++) {
      const Value *y = opcase_output(g, i);
      if (!y) continue;
      r->type[i] = y->type;
      r->shape[i] = y->shape;
      r->data[i] = malloc(value_bytes(y) + 1);
      if (value_bytes(y)) memcpy(r->data[i], y->data, value_bytes(y));
    }
    machine_free(&m);
  }
  arena_free(&arena);
  return ran;
}

/* The result's rounding and float32's own; an infinity where the type ends. What an index out of range finds is NaN in
 * float32, 0 in others. */
static bool is_close(double want, double got, double unit) {
  if (isnan(want) && got == 0) return true;
  if (isnan(want) || isinf(want) || isinf(got))
    return isnan(want) ? isnan(got) : (got > 0) == (want > 0) && (isinf(got) || !isinf(want));
  return fabs(want - got) <= unit * (fabs(want) + 1e-6) + 4e-6 * (fabs(want) + 1);
}

static void compare(const OpCase *c, DType type, double unit, const CaseResult *want, const CaseResult *got) {
  for (int k = 0; k < want->count; k++) {
    if (!want->data[k] || !check(got->data[k] && shape_equal(&want->shape[k], &got->shape[k]),
                                 "%s in %s: output %d has another shape", c->key, dtype_name(type), k))
      continue;
    bool same = want->type[k] == got->type[k], follows = want->type[k] == DTYPE_FLOAT32 && got->type[k] == type;
    if (!check(same || follows, "%s in %s: output %d is %s", c->key, dtype_name(type), k, dtype_name(got->type[k])))
      continue;
    for (size_t i = 0, n = shape_elements(&want->shape[k]); i < n; i++) {
      double x = number_at(want->data[k], want->type[k], i), y = number_at(got->data[k], got->type[k], i);
      if (!check(is_close(x, y, follows ? unit : 0), "%s in %s: output %d, element %zu is %g, in float32 %g", c->key,
                 dtype_name(type), k, i, y, x))
        break;
    }
  }
}

/* All its float32 inputs in the type, or where that is refused, the first alone. */
static bool check_type(const Op *op, const Case *text, DType type, double unit) {
  bool ran = false;
  for (int alone = 0; alone < 2 && !ran; alone++) {
    OpCase c;
    CaseResult want = {0}, got = {0};
    if (opcase_parse(op, text, &c)) {
      OpCase other = of_type(&c, type, alone);
      ran = run(&other, &got) && check(run(&c, &want), "%s does not run", c.key);
      if (ran) compare(&c, type, unit, &want, &got);
    }
    case_result_free(&want);
    case_result_free(&got);
    opcase_free(&c);
  }
  return ran;
}

static int accepted;

static void float_types(const void *argument) {
  const Op *op = argument;
  int cases = 0;
  for (const Case *text = op->cases; text && text->in && !(op->flags & (OP_RANDOM | OP_UPDATES)); text++)
    for (int t = 0; t < FLOATS && strstr(text->in, "f32"); t++)
      cases += check_type(op, text, floats[t].type, floats[t].unit);
  test_note("%d runs", cases);
  accepted += cases;
}

/* y = float32 of (t, t), t = x in the type: dx = dy of both, each rounded to the type. */
static void gradients_flow_through_other_floats(const void *argument) {
  enum { N = 6 };
  (void)argument;
  for (int t = 0; t < FLOATS; t++) {
    Arena arena = {0};
    Error error = {0};
    Machine m;
    char problem[160];
    Graph *g = graph_new(&arena, &error);
    graph_import(g, "", 17);
    Shape once = SHAPE(2, 3), twice = SHAPE(4, 3);
    Value *x = graph_value(g, "x", DTYPE_FLOAT32, &once, VALUE_INPUT),
          *dy = graph_value(g, "dy", DTYPE_FLOAT32, &twice, VALUE_INPUT);
    Value *other = emit_with(g, "Cast", ATTRS(attr_of_int("to", floats[t].type)), x), *dx = NULL;
    Value *y = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)),
                         emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), other, other));
    if (check(y && backward(g, y, dy, &x, 1, &dx) == STATUS_OK && dx, "%s: %s", dtype_name(floats[t].type),
              error.text) &&
        machine_new(&m, g, 0xFF, problem)) {
      for (size_t i = 0; i < 2 * N; i++) ((float *)dy->data)[i] = case_dy(0, i);
      for (size_t i = 0; i < N; i++) ((float *)x->data)[i] = 1;
      machine_run(&m);
      for (size_t i = 0; i < N; i++) {
        double want = (double)case_dy(0, i) + (double)case_dy(0, i + N), got = ((const float *)dx->data)[i];
        check(fabs(want - got) <= 4 * floats[t].unit, "%s: dx[%zu] is %g, not %g", dtype_name(floats[t].type), i, got,
              want);
      }
      machine_free(&m);
    }
    arena_free(&arena);
  }
}

int main(void) {
  TEST(gradients_flow_through_other_floats);
  for (int i = 0; op_at(i); i++) test_run(op_at(i)->name, float_types, op_at(i));
  printf("%d runs in other float types\n", accepted);
  return test_finish() || !accepted;
}
