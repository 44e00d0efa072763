/* quantizeFrozen: which weights are chosen, how each of their readers is written anew, and that these compute nearly
 * what the floats did. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "frozen.h"
#include "machine.h"

/* ---- what becomes of its readers ---- */

static Value *with(Frozen *m, const char *op, Attr attr, Value *a, Value *b) {
  return emit_with(m->g, op, ATTRS(attr), a, b);
}
static Value *gather(Frozen *m, Value *table) { return emit(m->g, "Gather", table, m->ids); }
static Value *turned(Frozen *m, Value *v) {
  return emit_with(m->g, "Transpose", ATTRS(attr_of_ints("perm", (int64_t[]){1, 0}, 2)), v);
}
static const Attr trans_b = {"transB", ATTR_INT, .i = 1}, no_trans = {"transB", ATTR_INT, .i = 0};

/* The operators of the graph with int8, int4 and float16. */
typedef struct Rewritten {
  const char *what;
  Value *(*make)(Frozen *m);
  const char *operators[3];
  int last_rows;
} Rewritten;

static Value *a_product(Frozen *m) { return frozen_product(m, m->x, frozen_w(m, WIDE, HIGH)); }
static Value *rows_product(Frozen *m) { return frozen_gemm(m, trans_b, m->x, frozen_w(m, HIGH, WIDE), NULL); }
static Value *first_value(Frozen *m) { return frozen_product(m, m->x, m->w = m->first); }
static Value *with_bias(Frozen *m) {
  return frozen_gemm(m, trans_b, m->x, frozen_w(m, HIGH, WIDE), frozen_parameter(m, "bias", SHAPE(HIGH)));
}
static Value *with_bias_of_one(Frozen *m) {
  return frozen_gemm(m, trans_b, m->x, frozen_w(m, HIGH, WIDE), frozen_parameter(m, "bias", SHAPE(1)));
}
static Value *beside_absent_inputs(Frozen *m) {
  return frozen_product(m, emit(m->g, "Clip", m->x, EMIT_ABSENT, emit_float(m->g, 0.5f)), frozen_w(m, WIDE, HIGH));
}
static Value *with_matrix(Frozen *m) {
  return frozen_gemm(m, no_trans, m->x, frozen_w(m, WIDE, HIGH), frozen_parameter(m, "c", SHAPE(ROWS, HIGH)));
}
static Value *beta_of_nothing(Frozen *m) {
  return frozen_gemm(m, attr_of_float("beta", 2), m->x, frozen_w(m, WIDE, HIGH), NULL);
}
static Value *turned_product(Frozen *m) { return frozen_product(m, m->x, turned(m, frozen_w(m, HIGH, WIDE))); }
static Value *turned_twice(Frozen *m) {
  return frozen_gemm(m, trans_b, m->x, turned(m, frozen_w(m, WIDE, HIGH)), NULL);
}
static Value *look_up(Frozen *m) { return gather(m, frozen_w(m, HIGH, WIDE)); }
static Value *tied(Frozen *m) {
  Value *table = frozen_w(m, HIGH, WIDE), *rows = gather(m, table);
  return frozen_product(m, rows, turned(m, table));
}
static Value *tied_columns(Frozen *m) {
  Value *table = frozen_w(m, WIDE, WIDE);
  return frozen_product(m, gather(m, table), table);
}
static Value *shared(Frozen *m) {
  Value *both = frozen_w(m, WIDE, WIDE);
  return frozen_product(m, frozen_product(m, m->x, both), both);
}
static Value *shared_turned(Frozen *m) {
  Value *t = turned(m, frozen_w(m, WIDE, WIDE));
  return frozen_product(m, frozen_product(m, m->x, t), t);
}

#define LOOK_UP "Gather Cast Gather Unsqueeze Mul"
static const Rewritten rewritten[] = {
    {"a product", a_product, {"DequantizeLinear MatMul", "MatMulNBits", "Cast MatMul"}, HIGH},
    {"of the first value", first_value, {"DequantizeLinear MatMul", "MatMulNBits", "Cast MatMul"}, HIGH},
    {"of (out, in)", rows_product, {"DequantizeLinear Gemm", "MatMulNBits", "Cast Gemm"}, HIGH},
    {"with a bias", with_bias, {"DequantizeLinear Gemm", "MatMulNBits", "Cast Gemm"}, HIGH},
    {"with a bias of one number", with_bias_of_one, {"DequantizeLinear Gemm", "MatMulNBits Add", "Cast Gemm"}, HIGH},
    {"with a matrix", with_matrix, {"DequantizeLinear Gemm", "MatMulNBits Add", "Cast Gemm"}, HIGH},
    {"beside absent inputs",
     beside_absent_inputs,
     {"Clip DequantizeLinear MatMul", "Clip MatMulNBits", "Clip Cast MatMul"},
     HIGH},
    {"with beta, of nothing", beta_of_nothing, {"DequantizeLinear Gemm", "MatMulNBits", "Cast Gemm"}, HIGH},
    {"a Transpose",
     turned_product,
     {"Transpose DequantizeLinear MatMul", "MatMulNBits", "Transpose Cast MatMul"},
     HIGH},
    {"turned twice", turned_twice, {"Transpose DequantizeLinear Gemm", "MatMulNBits", "Transpose Cast Gemm"}, HIGH},
    {"a table", look_up, {LOOK_UP, LOOK_UP, "Gather Cast"}, WIDE},
    {"a table that is a product, too",
     tied,
     {LOOK_UP " Transpose DequantizeLinear MatMul", LOOK_UP " Transpose DequantizeLinear MatMul",
      "Gather Cast Transpose Cast MatMul"},
     HIGH},
    {"a table and its columns",
     tied_columns,
     {LOOK_UP " DequantizeLinear MatMul", LOOK_UP " DequantizeLinear MatMul", "Gather Cast Cast MatMul"},
     WIDE},
    {"two products", shared, {"DequantizeLinear MatMul MatMul", "MatMulNBits MatMulNBits", "Cast MatMul MatMul"}, WIDE},
    {"two products of a Transpose",
     shared_turned,
     {"Transpose DequantizeLinear MatMul MatMul", "MatMulNBits MatMulNBits", "Transpose Cast MatMul MatMul"},
     WIDE},
};

/* Reads a copy, in which each node is checked again. */
static void run(Frozen *m, float y[2 * ROWS]) {
  static const int64_t ids[ROWS] = {2, 0, 1, 2};
  float x[ROWS * WIDE];
  Machine machine;
  char problem[160];
  Graph *copy = graph_clone(m->g, &m->arena, &m->error, NULL, m->g->outputs, 1);
  if (!check(copy != NULL, "%s", m->error.text)) return;
  if (!check(machine_new(&machine, copy, 0xFF, problem), "%s", problem)) return;
  frozen_fill(x, ROWS * WIDE, 5);
  if (graph_find(copy, "x")) machine_set(&machine, graph_find(copy, "x"), x, sizeof x);
  if (graph_find(copy, "ids")) machine_set(&machine, graph_find(copy, "ids"), ids, sizeof ids);
  machine_run(&machine);
  memcpy(y, m->g->outputs[0]->copy->data, 2 * ROWS * sizeof *y);
  machine_free(&machine);
}

static const double off[] = {0.02, 0.2, 0.002}; /* int8, int4 and float16, at most, for numbers up to 3 */

static void is_rewritten(const void *argument) {
  const Rewritten *row = argument;
  float plain[2 * ROWS], y[2 * ROWS];
  for (QuantizeKind kind = QUANTIZE_INT8; kind <= QUANTIZE_FLOAT16; kind++) {
    Frozen m;
    if (!frozen_open(&m, row->make, row->last_rows)) return;
    run(&m, plain);
    if (frozen_put(&m, kind, false)) {
      char *wanted = arena_print(&m.arena, "%s MatMul", row->operators[kind - 1]), *is = frozen_operators(&m);
      check(strcmp(is, wanted) == 0, "kind %d: %s, not %s", kind, is, wanted);
      check(m.w->kind == VALUE_NODE, "the floats are kept"); /* nobody reads or writes them */
      run(&m, y);
      for (int i = 0; i < 2 * ROWS; i++)
        check(fabs((double)y[i] - (double)plain[i]) <= off[kind - 1], "kind %d: %g at %d, not %g", kind, (double)y[i],
              i, (double)plain[i]);
    }
    arena_free(&m.arena);
  }
}

/* ---- what stays as it is ---- */

static Value *times_two(Frozen *m) {
  return frozen_gemm(m, attr_of_float("alpha", 2), m->x, frozen_w(m, WIDE, HIGH), NULL);
}
static Value *turned_x(Frozen *m) {
  return frozen_gemm(m, attr_of_int("transA", 1), turned(m, m->x), frozen_w(m, WIDE, HIGH), NULL);
}
static Value *beta_of_a_bias(Frozen *m) {
  return frozen_gemm(m, attr_of_float("beta", 2), m->x, frozen_w(m, WIDE, HIGH),
                     frozen_parameter(m, "bias", SHAPE(HIGH)));
}
static Value *another_reader(Frozen *m) {
  Value *v = frozen_w(m, WIDE, WIDE);
  return emit(m->g, "Add", frozen_product(m, m->x, v), emit(m->g, "ReduceMax", v));
}
static Value *read_as_a(Frozen *m) { return frozen_product(m, frozen_w(m, ROWS, ROWS), m->x); }
static Value *read_as_a_at_last(Frozen *m) {
  Value *v = frozen_w(m, WIDE, WIDE);
  return frozen_product(m, v, turned(m, frozen_product(m, m->x, v)));
}
static Value *both_ways(Frozen *m) {
  Value *v = frozen_w(m, WIDE, WIDE);
  return frozen_gemm(m, trans_b, frozen_product(m, m->x, v), v, NULL);
}
static Value *both_ways_turned(Frozen *m) {
  Value *v = frozen_w(m, WIDE, WIDE);
  return frozen_product(m, frozen_product(m, m->x, v), turned(m, v));
}
static Value *an_output(Frozen *m) {
  Value *v = frozen_w(m, WIDE, WIDE), *y = frozen_product(m, m->x, v);
  graph_add_output(m->g, v);
  return y;
}
static Value *a_turned_output(Frozen *m) {
  Value *t = turned(m, frozen_w(m, WIDE, WIDE)), *y = frozen_product(m, m->x, t);
  graph_add_output(m->g, t);
  return y;
}
static Value *a_turned_table(Frozen *m) { return gather(m, turned(m, frozen_w(m, WIDE, WIDE))); }
static Value *a_turned_table_multiplied(Frozen *m) {
  Value *t = turned(m, frozen_w(m, WIDE, WIDE)), *rows = gather(m, t);
  return frozen_product(m, rows, t);
}
static Value *turned_by_nothing(Frozen *m) {
  const Attr perm = attr_of_ints("perm", (int64_t[]){0, 1}, 2);
  return frozen_product(m, m->x, emit_with(m->g, "Transpose", ATTRS(perm), frozen_w(m, WIDE, HIGH)));
}
static Value *through_another_operator(Frozen *m) {
  return frozen_product(m, m->x, emit(m->g, "Relu", frozen_w(m, WIDE, HIGH)));
}
static Value *turned_for_nobody(Frozen *m) { return turned(m, frozen_w(m, WIDE, WIDE)), frozen_product(m, m->x, m->w); }
static Value *a_batch(Frozen *m) {
  Value *x = emit(m->g, "Unsqueeze", m->x, emit_ints(m->g, (int64_t[]){0}, 1));
  Value *y = frozen_product(m, x, m->w = frozen_parameter(m, "w", SHAPE(1, WIDE, WIDE)));
  return emit(m->g, "Squeeze", y, emit_ints(m->g, (int64_t[]){0}, 1));
}
static Value *columns_of_a_table(Frozen *m) {
  return with(m, "Gather", attr_of_int("axis", 1), frozen_w(m, ROWS, HIGH), m->ids);
}
static Value *a_table_of_matrices(Frozen *m) {
  Value *y = gather(m, m->w = frozen_parameter(m, "w", SHAPE(HIGH, 1, WIDE)));
  return emit(m->g, "Squeeze", y, emit_ints(m->g, (int64_t[]){1}, 1));
}
static Value *numbers_of_a_vector(Frozen *m) {
  m->w = frozen_parameter(m, "w", SHAPE(HIGH));
  return emit(m->g, "Unsqueeze", gather(m, m->w), emit_ints(m->g, (int64_t[]){1}, 1));
}
static Value *no_initializer(Frozen *m) {
  Value *y = a_product(m);
  m->w->initializer = false;
  return y;
}
static Value *a_statistic(Frozen *m) {
  Value *y = a_product(m);
  m->w->statistic = true;
  return y;
}
static Value *no_parameter(Frozen *m) {
  Value *y = a_product(m);
  m->w->note = NOTE_NO_PARAMETER;
  return y;
}
static Value *infinite(Frozen *m) {
  Value *y = a_product(m);
  ((float *)m->w->data)[7] = INFINITY;
  return y;
}

typedef struct Stays {
  const char *what;
  Value *(*make)(Frozen *m);
  int last_rows;
} Stays;
static const Stays stays[] = {
    {"a product times two", times_two, HIGH},
    {"a product of a transposed A", turned_x, HIGH},
    {"a bias times two", beta_of_a_bias, HIGH},
    {"what another operator reads", another_reader, WIDE},
    {"A of a product", read_as_a, WIDE},
    {"A of the last product", read_as_a_at_last, 0},
    {"what is read both ways", both_ways, WIDE},
    {"what is read both ways, by a Transpose", both_ways_turned, WIDE},
    {"an output", an_output, WIDE},
    {"an output, turned", a_turned_output, WIDE},
    {"a table, turned", a_turned_table, WIDE},
    {"a table, turned, that is a product, too", a_turned_table_multiplied, WIDE},
    {"what a Transpose does not turn", turned_by_nothing, HIGH},
    {"what passes another operator first", through_another_operator, HIGH},
    {"what is turned for nobody", turned_for_nobody, WIDE},
    {"a batch of matrices", a_batch, WIDE},
    {"a table's columns", columns_of_a_table, ROWS},
    {"a table of matrices", a_table_of_matrices, WIDE},
    {"a vector", numbers_of_a_vector, 1},
    {"no initializer", no_initializer, HIGH},
    {"a running statistic", a_statistic, HIGH},
    {"what an exporter says is no parameter", no_parameter, HIGH},
    {"an infinite number", infinite, HIGH},
};

static void check_refused(Frozen *m, QuantizeKind kind) {
  check(!frozen_choose(m, kind, false) && strstr(m->error.text, "no frozen float32 weight is read by products"),
        "kind %d: '%s'", kind, m->error.text);
}

static void it_stays(const void *argument) {
  const Stays *row = argument;
  for (QuantizeKind kind = QUANTIZE_INT8; kind <= QUANTIZE_FLOAT16; kind++) {
    Frozen m;
    if (frozen_open(&m, row->make, row->last_rows)) check_refused(&m, kind);
    arena_free(&m.arena);
  }
}

static void a_half_ends_below_65520(const void *argument) {
  static const struct {
    float number;
    bool fits;
  } rows[] = {{65519, true}, {-65519, true}, {65520, false}, {-65520, false}, {1e30f, false}};
  (void)argument;
  for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
    size_t row = i / 2;
    Frozen m;
    if (!frozen_open(&m, a_product, HIGH)) return;
    ((float *)m.w->data)[i % 2 * 14] = rows[row].number;
    check((frozen_choose(&m, QUANTIZE_FLOAT16, false) != NULL) == rows[row].fits, "%g", (double)rows[row].number);
    m.error = (Error){0};
    check(frozen_choose(&m, QUANTIZE_INT8, false) != NULL, "int8 holds any number");
    arena_free(&m.arena);
  }
}

static void kinds_have_names(const void *argument) {
  (void)argument;
  check(quantize_named("int8") == QUANTIZE_INT8 && quantize_named("int4") == QUANTIZE_INT4 &&
            quantize_named("float16") == QUANTIZE_FLOAT16,
        "another kind");
  check(quantize_named("int2") == QUANTIZE_NONE && quantize_named("") == QUANTIZE_NONE, "a kind of no name");
}

int main(void) {
  for (size_t i = 0; i < sizeof rewritten / sizeof *rewritten; i++)
    test_run(rewritten[i].what, is_rewritten, &rewritten[i]);
  for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) test_run(stays[i].what, it_stays, &stays[i]);
  TEST(a_half_ends_below_65520);
  TEST(kinds_have_names);
  return test_finish();
}
