/* quantizeFrozen: the numbers are those of onnxruntime.quantization (tests/golden/data/quantize_frozen.json), whether a
 * weight's values are there from the beginning, come later, or never. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "frozen.h"
#include "json.h"

static Value *a_weight(Frozen *m) { return frozen_product(m, m->x, frozen_w(m, WIDE, HIGH)); }

static const Json *golden(Arena *arena) {
  size_t bytes;
  char *text = file_read(arena, "tests/golden/data/quantize_frozen.json", &bytes);
  return text ? json_parse(arena, text) : NULL;
}

static void check_hex(const Value *v, const char *hex) {
  const uint8_t *x = v->data;
  size_t bytes = value_bytes(v);
  bool same = strlen(hex) == 2 * bytes;
  for (size_t i = 0; same && i < bytes; i++) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", x[i]);
    same = memcmp(digits, hex + 2 * i, 2) == 0;
  }
  check(same, "%s has other numbers", v->name);
}

static void check_scales(const Value *v, const Json *wanted) {
  const float *x = v->data;
  size_t i = 0;
  for (const Json *at = wanted->child; at; at = at->next, i++)
    check(i < shape_elements(&v->shape) && x[i] == (float)at->number, "scale %zu is another one", i);
  check(i == shape_elements(&v->shape), "%zu scales", i);
}

enum { DEPTH = 80, COLUMNS = 6 };

/* The same as in make_quantize_frozen.py. */
static Value *known(Frozen *m) {
  static float x[DEPTH * COLUMNS];
  const Shape shape = SHAPE(DEPTH, COLUMNS);
  for (int i = 0; i < DEPTH * COLUMNS; i++) {
    int k = i / COLUMNS, n = i % COLUMNS;
    float y = (float)((double)((i * i * 7 + 3 * i) % 1013) / 500 - 1);
    x[i] = n == 1 && k >= 32 && k < 64 ? 0 : n == 2 ? fabsf(y) : y;
  }
  Value *v = m->w = graph_constant(m->g, "w", DTYPE_FLOAT32, &shape, x);
  v->initializer = true;
  return v;
}
static Value *known_columns(Frozen *m) {
  return frozen_product(m, frozen_input(m, "long", DTYPE_FLOAT32, SHAPE(ROWS, DEPTH)), known(m));
}
static Value *known_rows(Frozen *m) {
  return frozen_gemm(m, attr_of_int("transB", 1), frozen_input(m, "short", DTYPE_FLOAT32, SHAPE(ROWS, COLUMNS)),
                     known(m), NULL);
}

typedef struct Numbers {
  const char *what;
  Value *(*make)(Frozen *m);
  QuantizeKind kind;
  int last_rows;
  const char *names[3]; /* numbers, scales and zero points */
} Numbers;
static const Numbers numbers[] = {
    {"int8", known_columns, QUANTIZE_INT8, COLUMNS, {"w_quantized", "w_scale"}},
    {"rows", known_rows, QUANTIZE_INT8, DEPTH, {"w_quantized", "w_scale"}},
    {"int4", known_columns, QUANTIZE_INT4, COLUMNS, {"w_Q4", "w_scales", "w_zero_points"}},
};

static int count_quantized(const Graph *g) {
  int count = 0;
  for (int i = 0; i < g->value_count; i++) count += g->values[i]->quantized;
  return count;
}

static const Value *made(const Frozen *m, const char *name) {
  const Value *v = graph_find(m->g, name);
  check(v && v->kind == VALUE_CONSTANT && v->initializer && v->quantized, "%s is no part of a weight", name);
  return v;
}

static void they_are_those_of_onnxruntime(const void *argument) {
  const Numbers *row = argument;
  Frozen m;
  if (frozen_open(&m, row->make, row->last_rows)) {
    const Json *wanted = json_get(golden(&m.arena), row->what);
    if (frozen_put(&m, row->kind, false) && check(wanted != NULL, "no numbers")) {
      check_hex(made(&m, row->names[0]), json_text(wanted, "q"));
      check_scales(made(&m, row->names[1]), json_get(wanted, "scales"));
      if (row->names[2]) check_hex(made(&m, row->names[2]), json_text(wanted, "points"));
    }
  }
  arena_free(&m.arena);
}

static void halves_are_rounded_to_the_nearest(const void *argument) {
  static const float x[] = {1, -2, 0.1f, 65519, 0x1p-24f};
  static const uint16_t wanted[] = {0x3C00, 0xC000, 0x2E66, 0x7BFF, 1};
  (void)argument;
  Frozen m;
  if (frozen_open(&m, a_weight, HIGH)) {
    memcpy(m.w->data, x, sizeof x);
    if (frozen_put(&m, QUANTIZE_FLOAT16, false))
      check(memcmp(made(&m, "w_float16")->data, wanted, sizeof wanted) == 0, "other halves");
  }
  arena_free(&m.arena);
}

/* ---- values that come one by one, or never ---- */

static bool makes(QuantizeKind kind, float number) {
  Frozen m;
  bool made_now = false;
  if (frozen_open(&m, a_weight, HIGH)) {
    Quantizer *q = frozen_choose(&m, kind, false);
    ((float *)m.w->data)[14] = number;
    if (check(q != NULL, "%s", m.error.text)) {
      check(!quantize_make(q, m.x) && !quantize_make(q, m.last), "what stays is made");
      made_now = quantize_make(q, m.w);
      check(!quantize_make(q, emit_float(m.g, 1)), "what came later is made");
      if (made_now) memset(m.w->data, 0, value_bytes(m.w)); /* it is read no more */
      check(quantize_put(q) == STATUS_OK, "%s", m.error.text);
      bool wide = strcmp(frozen_operators(&m), "MatMul MatMul") == 0;
      check(wide == !made_now && (m.w->kind == VALUE_CONSTANT) == wide, "%s", frozen_operators(&m));
      if (made_now) check(count_quantized(m.g) == (int[]){0, 2, 3, 1}[kind], "it is made twice");
      if (made_now && kind == QUANTIZE_INT8)
        check(((const int8_t *)made(&m, "w_quantized")->data)[14] == 127, "it is made of other numbers");
    }
  }
  arena_free(&m.arena);
  return made_now;
}

static void what_cannot_be_quantized_stays_wide(const void *argument) {
  (void)argument;
  check(makes(QUANTIZE_INT8, 1e30f) && makes(QUANTIZE_INT4, 3) && makes(QUANTIZE_FLOAT16, 65519), "it is not made");
  check(!makes(QUANTIZE_INT8, NAN) && !makes(QUANTIZE_INT4, INFINITY) && !makes(QUANTIZE_FLOAT16, NAN), "no numbers");
  check(!makes(QUANTIZE_FLOAT16, 65520), "too large");
}

/* Nothing is read or written: what takes a weight's place stands on its bytes. */
static void without_values_none_are_made(const void *argument) {
  static const char *const names[][4] = {[QUANTIZE_INT8] = {"w_quantized", "w_scale"},
                                         [QUANTIZE_INT4] = {"w_Q4", "w_scales", "w_zero_points"},
                                         [QUANTIZE_FLOAT16] = {"w_float16"}};
  (void)argument;
  for (QuantizeKind kind = QUANTIZE_INT8; kind <= QUANTIZE_FLOAT16; kind++) {
    Frozen m;
    if (frozen_open(&m, a_weight, HIGH)) {
      float before[WIDE * HIGH];
      memcpy(before, m.w->data, sizeof before);
      if (frozen_put(&m, kind, true))
        for (int i = 0; names[kind][i]; i++) check(made(&m, names[kind][i])->data == m.w->data, "%s", names[kind][i]);
      check(memcmp(before, m.w->data, sizeof before) == 0, "they were written");
    }
    arena_free(&m.arena);
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    test_run(numbers[i].what, they_are_those_of_onnxruntime, &numbers[i]);
  TEST(halves_are_rounded_to_the_nearest);
  TEST(what_cannot_be_quantized_stays_wide);
  TEST(without_values_none_are_made);
  return test_finish();
}
