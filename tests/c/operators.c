/* The page of operators: what infer, backward and the cases say of each one, held to docs/measured/operators.md.
 *
 *   test_operators              fails when the committed page is another one
 *   test_operators --print      the page
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels/number.h"
#include "opcheck.h"
#include "graph/backward.h"
#include "ops/ops.h"

/* In the page's order; a set of types has bits by place in this list. */
static const DType types[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT8,
                              DTYPE_INT16,   DTYPE_INT32,   DTYPE_INT64,   DTYPE_UINT8,    DTYPE_UINT16,
                              DTYPE_UINT32,  DTYPE_UINT64,  DTYPE_BOOL,    DTYPE_STRING};
enum { TYPES = sizeof types / sizeof *types };
static const struct {
  const char *name;
  unsigned set;
} sets[] = {{"all", 0x1fff}, {"numbers", 0xfff},    {"floats", 0xf},
            {"ints", 0xff0}, {"signed ints", 0xf0}, {"unsigned ints", 0xf00}};

typedef struct Row {
  const Op *op;
  int cases, inputs;
  unsigned accepted[OPCASE_INPUTS]; /* set of types an input */
  unsigned fed;                     /* inputs of any case */
  unsigned gradient;                /* inputs that a gradient reaches in any case */
} Row;

/* ---- what is ---- */

static bool is_accepted(const OpCase *c) {
  Arena arena = {0};
  Error error = {0};
  bool accepted = opcase_build(c, &arena, &error, SYMBOLS_NONE) != NULL;
  arena_free(&arena);
  return accepted;
}

/* Input i of another type; a constant's contents are what that type holds of them, and a string is a number's. */
static void change_type(OpCase *c, CaseInput *in, DType type) {
  size_t bytes = in->count * dtype_bytes(type) + 1;
  char *data = arena_alloc(&c->arena, bytes);
  for (size_t i = 0; data && i < in->count; i++) {
    Numbers x = {.ints = {1}};
    if (in->type != DTYPE_STRING) numbers_load(&x, in->data, in->type, i, 1, 1);
    if (type == DTYPE_STRING) ((const char **)data)[i] = "1";
    else if (dtype_is_float(in->type)) numbers_store_floats(&x, data, type, i, 1);
    else numbers_store_ints(&x, data, type, i, 1);
  }
  in->type = type;
  in->data = data;
}

/* The types that infer accepts for input i, alone or with all inputs of its type changed along. */
static unsigned accepted_types(OpCase *c, int i) {
  unsigned set = 0;
  for (int t = 0; t < TYPES; t++) {
    if (!dtype_bytes(types[t])) continue; /* no tensors of it */
    OpCase alone = *c, along = *c;
    change_type(c, &alone.in[i], types[t]);
    for (int k = 0; k < c->in_count; k++)
      if (!c->in[k].absent && c->in[k].type == c->in[i].type) change_type(c, &along.in[k], types[t]);
    if (is_accepted(&alone) || is_accepted(&along)) set |= 1u << t;
  }
  return set;
}

/* The float inputs that a gradient from output 0 reaches. */
static unsigned gradient_inputs(const OpCase *c) {
  Arena arena = {0};
  Error error = {0};
  Value *wrt[OPCASE_INPUTS], *grads[OPCASE_INPUTS] = {0};
  int index[OPCASE_INPUTS], count = 0;
  unsigned reached = 0;
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  for (int i = 0; g && i < c->in_count; i++)
    if (!c->in[i].absent && !c->in[i].constant && c->in[i].type == DTYPE_FLOAT32)
      index[count] = i, wrt[count++] = opcase_value(g, i);
  const Value *y = g ? opcase_output(g, 0) : NULL;
  Value *dy = y && y->type == DTYPE_FLOAT32 ? graph_value(g, "dy", DTYPE_FLOAT32, &y->shape, VALUE_INPUT) : NULL;
  if (dy && backward(g, opcase_output(g, 0), dy, wrt, count, grads) == STATUS_OK)
    for (int k = 0; k < count; k++) reached |= (unsigned)(grads[k] != NULL) << index[k];
  arena_free(&arena);
  return reached;
}

static Row row_of(const Op *op) {
  Row row = {.op = op};
  for (const Case *text = op->cases; text && text->in; text++, row.cases++) {
    OpCase c;
    if (check(opcase_parse(op, text, &c), "%s: %s", c.key, c.problem)) {
      row.gradient |= gradient_inputs(&c);
      if (c.in_count > row.inputs) row.inputs = c.in_count;
      for (int i = 0; i < c.in_count; i++)
        if (!c.in[i].absent) row.accepted[i] |= accepted_types(&c, i), row.fed |= 1u << i;
    }
    opcase_free(&c);
  }
  return row;
}

/* ---- the page ---- */

static const char *domain_of(const Op *op) { return op->domain ? op->domain : "ai.onnx"; }

static void print_versions(FILE *page, const Op *op) {
  for (int i = 0; i < SINCE_MAX && op->since[i]; i++) fprintf(page, "%s%d", i ? ", " : "", op->since[i]);
}

static void print_types(FILE *page, unsigned set) {
  const char *comma = "";
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if ((set & sets[i].set) == sets[i].set)
      fprintf(page, "%s%s", comma, sets[i].name), comma = ", ", set &= ~sets[i].set;
  for (int t = 0; t < TYPES; t++)
    if (set >> t & 1) fprintf(page, "%s%s", comma, dtype_name(types[t])), comma = ", ";
}

/* "0–2" for consecutive inputs from … to. */
static void print_span(FILE *page, int from, int to) {
  if (to > from) fprintf(page, "%d–%d", from, to);
  else fprintf(page, "%d", from);
}

/* "0–1: floats; 2: int32, int64"; no numbers when all inputs take the same. */
static void print_inputs(FILE *page, const Row *row) {
  const char *between = "";
  for (int i = 0, end; i < row->inputs; i = end) {
    for (end = i + 1; end < row->inputs && row->accepted[end] == row->accepted[i]; end++) {
    }
    if (!(row->fed >> i & 1)) continue;
    fputs(between, page);
    if (end - i < row->inputs) print_span(page, i, end - 1), fputs(": ", page);
    print_types(page, row->accepted[i]);
    between = "; ";
  }
}

static void print_gradient(FILE *page, const Row *row) {
  const char *comma = "";
  for (int i = 0, end; i < row->inputs; i = end) {
    for (end = i + 1; end < row->inputs && (row->gradient >> end & 1) == (row->gradient >> i & 1); end++) {
    }
    if (!(row->gradient >> i & 1)) continue;
    fputs(comma, page);
    print_span(page, i, end - 1);
    comma = ", ";
  }
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const Op *const *)a)->name, (*(const Op *const *)b)->name);
}

static void print_row(FILE *page, const Row *row) {
  fprintf(page, "| %s | ", row->op->name);
  print_versions(page, row->op);
  fputs(" | ", page);
  print_inputs(page, row);
  fputs(" | ", page);
  print_gradient(page, row);
  fprintf(page, " | %d |\n", row->cases);
}

static void print_domain(FILE *page, const char *domain) {
  const Op *ops[512];
  int count = 0;
  for (int i = 0; op_at(i) && count < 512; i++)
    if (strcmp(domain_of(op_at(i)), domain) == 0) ops[count++] = op_at(i);
  qsort(ops, (size_t)count, sizeof *ops, by_name);
  fprintf(page,
          "\n## %s\n\n| operator | opsets | types of inputs | gradient towards | cases |\n|---|---|---|---|---|\n",
          domain);
  for (int i = 0; i < count; i++) {
    Row row = row_of(ops[i]);
    print_row(page, &row);
  }
}

static void print_page(FILE *page) {
  fputs(
      "# Operators\n\n"
      "`npm run docs:operators` writes this page from the operators and their cases, and a test fails when the page "
      "is\n"
      "another one. How fast each operator is, beside onnxruntime-web: `docs/measured/operator-speed.md`.\n\n"
      "- *opsets*: each version at which the operator's meaning changed, as far as the engine computes it. A model of\n"
      "  any opset in between is read as the version before.\n"
      "- *types of inputs*: by the number of the input, as far as a case has it, the types that the operator accepts.\n"
      "  *floats* are float32, float64, float16 and bfloat16; *numbers* are floats and all integers. Float16 and\n"
      "  bfloat16 are computed in float32, small integers in a wider type. Operators that move elements, arithmetic,\n"
      "  comparisons, exp, log, roots, powers, sums and other reductions and MatMul compute float64 as float64; the\n"
      "  rest (activations, trigonometry, Gemm, convolutions, pools, normalizations, recurrent networks, attention)\n"
      "  computes it in float32: about seven digits, nothing past 3.4e38.\n"
      "- *gradient towards*: the numbers of the float32 inputs that a gradient reaches.\n"
      "- *cases*: how many cases the harness runs (`tests/c/harness.c`), besides ONNX's own cases. The cases of other\n"
      "  operators run an operator without any, as a part of their gradients.\n\n"
      "Constant is read as a constant. Gradient, of ai.onnx.preview.training, becomes the nodes of a backward pass. "
      "If,\n"
      "Loop, Scan and SequenceMap become the nodes of their subgraphs, with the gradients of these\n"
      "([control-flow.md](../guides/control-flow.md)). `session.forward` stops at a YieldOp and its `backward` goes "
      "on\n"
      "from there. Of ATen the engine knows `embedding`, `embedding_backward` and `embedding_dense_backward`; its own\n"
      "gradient of the first reaches the row padding_idx too, as Gather's does.\n",
      page);
  const char *domains[16];
  int count = 0;
  for (int i = 0; op_at(i); i++) {
    int at = 0;
    while (at < count && strcmp(domains[at], domain_of(op_at(i))) != 0) at++;
    if (at == count && count < 16) domains[count++] = domain_of(op_at(i));
  }
  for (int i = 0; i < count; i++) print_domain(page, domains[i]);
}

/* ---- against the committed one ---- */

static void page_is_the_committed_one(const void *argument) {
  (void)argument;
  FILE *want = tmpfile(), *got = fopen("docs/measured/operators.md", "r");
  char a[1000], b[1000];
  int line = 0;
  if (!check(want && got, "docs/measured/operators.md cannot be read: run from the repository")) return;
  print_page(want);
  rewind(want);
  for (bool same = true; same;) {
    bool more = fgets(a, sizeof a, want), there = fgets(b, sizeof b, got);
    line++;
    if (!more && !there) break;
    same = check(more == there && strcmp(a, b) == 0,
                 "docs/measured/operators.md line %d differs, run npm run docs:operators:\n%s%s", line,
                 more ? a : "(its end)\n", there ? b : "(its end)");
  }
  fclose(want);
  fclose(got);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--print") == 0) return print_page(stdout), 0;
  TEST(page_is_the_committed_one);
  return test_finish();
}
