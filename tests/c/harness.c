/* The operator harness: every case of every operator against itself, central differences and PyTorch's golden numbers.
 *
 *   test_harness [Op …]          all operators, or those named
 *   test_harness --forward       no gradients: for tests/mutants, which lines run without them
 *   test_harness --dump FILE     the cases as JSON, for tests/golden/scripts/make_ops.py
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "opcheck.h"
#include "graph/backward.h"
#include "trainlet.h"
#include "ops/ops.h"

static Golden *golden;
static FILE *dump;
static bool forward_only;
static int ops, cases, differentiable, gradients_checked, covered;

/* An operator made of others has their gradients, unless its cases say that nothing flows. */
static bool has_gradient(const Op *op) {
  if (!op->expand) return op->grad != NULL;
  for (const Case *text = op->cases; text && text->in; text++)
    if (!text->no_grad) return true;
  return false;
}

static void run_case(const OpCase *c) {
  CaseResult result = {0};
  float *grads[OPCASE_INPUTS] = {0};
  cases++;
  if (check_forward(c, &result) && !forward_only) {
    if (has_gradient(c->op) && !c->text->no_grad) check_gradient(c, grads), gradients_checked++;
    check(!c->text->kink || dump || golden_has(golden, c->key), "%s: a kink, and no golden numbers", c->key);
    if (golden_has(golden, c->key)) golden_check(golden, c, &result, grads), covered++;
    if (dump) fprintf(dump, "%s", ftell(dump) > 2 ? ",\n" : ""), golden_dump(dump, c, &result);
  }
  for (int i = 0; i < OPCASE_INPUTS; i++) free(grads[i]);
  case_result_free(&result);
}

static void run_op(const void *argument) {
  const Op *op = argument;
  int count = 0, with_gradient = 0, covered_before = covered;
  ops++;
  differentiable += has_gradient(op);
  for (const Case *text = op->cases; text && text->in; text++, count++) {
    OpCase c;
    if (check(opcase_parse(op, text, &c), "%s: %s", c.key, c.problem)) run_case(&c);
    with_gradient += !text->no_grad;
    opcase_free(&c);
  }
  check(count > 0 || !has_gradient(op), "%s has a gradient and no cases", op->name);
  /* tests/js/operators/quantization.test.js holds those of steps to PyTorch's numbers */
  check(!has_gradient(op) || !count || with_gradient > 0 || op->flags & OP_STEPS,
        "%s has a gradient and no case that checks it", op->name);
  test_note("%d cases%s", count, has_gradient(op) ? ", gradient" : "");
  if (covered > covered_before) test_note(", %d golden", covered - covered_before);
}

/* Their attributes are lists of strings, or tensors, which no case can have: tests/js/operators/ml.test.js and ONNX's
 * own run them. */
static bool has_no_cases(const Op *op) {
  return op == &op_yield || op == &op_category_mapper || op == &op_tree_ensemble;
}

/* An operator without cases runs at least in another one's gradient; a YieldOp's place in a program is empty. */
static void every_operator_ran(const void *argument) {
  (void)argument;
  for (int i = 0; op_at(i); i++)
    check(op_at(i)->expand || has_no_cases(op_at(i)) || machine_has_run(op_at(i)),
          "%s: no case and no gradient runs it", op_at(i)->name);
}

static void no_stale_goldens(const void *argument) {
  const char *key = "";
  (void)argument;
  if (!check(golden != NULL, "tests/golden/data/ops.txt cannot be read: run from the repository")) return;
  int unused = golden_unused(golden, &key);
  check(unused == 0, "%d golden cases are no operator's any more, one is '%s': run tests/golden/scripts/make_ops.py",
        unused, key);
}

/* L = Σ (y² + y⁰) · dy, y = e^x: towards y, which is no input, 2 y · dy; nothing comes of y⁰. */
static void gradients_flow_towards_values_in_between(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Machine m;
  char problem[160];
  Shape shape = SHAPE(3);
  (void)argument;
  Graph *g = graph_new(&arena, &error);
  graph_import(g, "", 17);
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT),
        *dy = graph_value(g, "dy", DTYPE_FLOAT32, &shape, VALUE_INPUT);
  Value *y = emit(g, "Exp", x), *gradient = NULL;
  Value *sum = emit(g, "Add", emit(g, "Mul", y, y), emit(g, "Pow", y, emit_float(g, 0)));
  bool written = sum && backward(g, sum, dy, &y, 1, &gradient) == STATUS_OK && gradient;
  if (check(written, "%s", error.text) && check(machine_new(&m, g, 0xFF, problem), "%s", problem)) {
    for (size_t i = 0; i < 3; i++) ((float *)x->data)[i] = (float)i, ((float *)dy->data)[i] = case_dy(0, i);
    machine_run(&m);
    for (size_t i = 0; i < 3; i++) {
      float got = ((const float *)gradient->data)[i], want = 2 * ((const float *)y->data)[i] * case_dy(0, i);
      check(got == want, "dy[%zu] is %g, not %g", i, (double)got, (double)want);
    }
    machine_free(&m);
  }
  arena_free(&arena);
}

/* x (2), y = x as float64 and back, twice in one graph: dx is dy of x's type, and nothing is left of the time before.
 */
static void gradients_flow_through_casts_and_again(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Machine m;
  char problem[160];
  Shape shape = SHAPE(2);
  (void)argument;
  Graph *g = graph_new(&arena, &error);
  graph_import(g, "", 17);
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT),
        *dy = graph_value(g, "dy", DTYPE_FLOAT32, &shape, VALUE_INPUT);
  Value *wide = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT64)), x),
        *y = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), wide);
  Value *first = NULL, *second = NULL;
  bool written = y && backward(g, y, dy, &x, 1, &first) == STATUS_OK &&
                 backward(g, y, dy, &x, 1, &second) == STATUS_OK && first && second;
  if (check(written, "%s", error.text) && check(machine_new(&m, g, 0xFF, problem), "%s", problem)) {
    check(first->type == DTYPE_FLOAT32 && first->producer->in[0]->type == DTYPE_FLOAT64,
          "the gradient is not cast as x was");
    for (size_t i = 0; i < 2; i++) ((float *)x->data)[i] = 1, ((float *)dy->data)[i] = case_dy(0, i);
    machine_run(&m);
    for (size_t i = 0; i < 2; i++) {
      float one = ((const float *)first->data)[i], two = ((const float *)second->data)[i];
      check(one == case_dy(0, i) && two == one, "dx[%zu] is %g, then %g, not %g", i, (double)one, (double)two,
            (double)case_dy(0, i));
    }
    machine_free(&m);
  }
  arena_free(&arena);
}

/* y = x · w, w of an operator that has no gradient: none is asked of it. */
static void gradients_stop_where_none_is_wanted(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Shape shape = SHAPE(2);
  (void)argument;
  Graph *g = graph_new(&arena, &error);
  graph_import(g, "", 17);
  Value *x = graph_value(g, "x", DTYPE_FLOAT32, &shape, VALUE_INPUT),
        *z = graph_value(g, "z", DTYPE_FLOAT32, &shape, VALUE_INPUT);
  Value *dy = graph_value(g, "dy", DTYPE_FLOAT32, &shape, VALUE_INPUT), *gradient = NULL;
  Value *of_z = emit(g, "Sigmoid", z);
  Value *y = emit(g, "Mul", x, emit(g, "GeluGrad", of_z, of_z));
  check(y && backward(g, y, dy, &x, 1, &gradient) == STATUS_OK && gradient, "%s", error.text);
  check(backward(g, y, dy, &z, 1, &gradient) == STATUS_UNSUPPORTED_OP,
        "GeluGrad has a gradient: this test says nothing");
  arena_free(&arena);
}

/* The gradient towards x of y, whose one dim is `length` when N is 3, run with N = 3: `want` holds which numbers of dy
 * make up each. */
static void check_later(Graph *g, Value *x, Value *y, Dim length, const int (*want)[3], int terms) {
  Machine m;
  char problem[160];
  Value *dy = y ? graph_value(g, "dy", DTYPE_FLOAT32, &y->shape, VALUE_INPUT) : NULL, *gradient = NULL;
  if (!check(dy && backward(g, y, dy, &x, 1, &gradient) == STATUS_OK && gradient, "%s", g->error->text)) return;
  Dim numbers[16];
  for (int i = 0; i < g->symbol_count && i < 16; i++)
    numbers[i] = dim_is_symbol(y->shape.dim[0]) && i == dim_symbol(y->shape.dim[0]) ? length : i == 0 ? 3 : -1;
  Graph *clone = graph_clone(g, g->arena, g->error, numbers, &gradient, 1);
  if (!check(clone && g->error->status == STATUS_OK, "%s", g->error->text) ||
      !check(machine_new(&m, clone, 0xFF, problem), "%s", problem))
    return;
  for (Dim i = 0; i < length; i++) ((float *)dy->copy->data)[i] = case_dy(0, (size_t)i);
  machine_run(&m);
  for (size_t i = 0; i < shape_elements(&x->shape); i++) {
    double wanted = 0, got = ((const float *)gradient->copy->data)[i];
    for (int k = 0; k < terms; k++) wanted += case_dy(0, (size_t)want[i % 2][k]);
    check(fabs(got - wanted) < 1e-6, "dx[%zu] is %g, not %g", i, got, wanted);
  }
  machine_free(&m);
}

/* Repeats and axes that are known as soon as N is: x (2) N times, and x (3, 2) summed along axis N - 3. */
static void gradients_take_contents_known_later(const void *argument) {
  (void)argument;
  for (int tile = 0; tile < 2; tile++) {
    Arena arena = {0};
    Error error = {0};
    Graph *g = graph_new(&arena, &error);
    graph_import(g, "", 17);
    Shape named = SHAPE(graph_symbol(g, "N")), row = SHAPE(2), table = SHAPE(3, 2);
    Value *a = graph_value(g, "a", DTYPE_FLOAT32, &named, VALUE_INPUT),
          *x = graph_value(g, "x", DTYPE_FLOAT32, tile ? &row : &table, VALUE_INPUT);
    graph_add_input(g, a), graph_add_input(g, x);
    Value *n = emit(g, "Shape", a), *three = emit_ints(g, (int64_t[]){3}, 1);
    if (tile) check_later(g, x, emit(g, "Tile", x, n), 6, (const int[][3]){{0, 2, 4}, {1, 3, 5}}, 3);
    else
      check_later(g, x, emit_with(g, "ReduceSum", ATTRS(attr_of_int("keepdims", 0)), x, emit(g, "Sub", n, three)), 2,
                  (const int[][3]){{0}, {1}}, 1);
    arena_free(&arena);
  }
}

static bool is_wanted(const char *name, int count, char **names) {
  if (forward_only) return !strstr(name, "Grad");
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return true;
  return count == 0;
}

int main(int argc, char **argv) {
  const char *dump_path = argc == 3 && strcmp(argv[1], "--dump") == 0 ? argv[2] : NULL;
  if (dump_path && !(dump = fopen(dump_path, "w"))) return perror(dump_path), 1;
  if (dump) fputs("[\n", dump);
  forward_only = argc == 2 && strcmp(argv[1], "--forward") == 0;
  int names = dump ? 0 : argc - 1;
  trainlet_threads_start(3);
  golden = dump ? NULL : golden_read("tests/golden/data/ops.txt");
  for (int i = 0; op_at(i); i++)
    if (is_wanted(op_at(i)->name, names, argv + 1)) test_run(op_at(i)->name, run_op, op_at(i));
  if (dump) fputs("]\n", dump), fclose(dump);
  else if (!names)
    TEST(gradients_flow_towards_values_in_between), TEST(gradients_flow_through_casts_and_again),
        TEST(gradients_stop_where_none_is_wanted), TEST(gradients_take_contents_known_later), TEST(every_operator_ran),
        TEST(no_stale_goldens);
  printf(
      "%d operators, %d cases; %d operators with a gradient, %d cases of them checked; %d cases have golden numbers\n",
      ops, cases, differentiable, gradients_checked, covered);
  golden_free(golden);
  return test_finish();
}
