/* Empty: every operator's cases with dims of 0, forward and backward, and every golden network with a batch of 0:
 * refused with a sentence or run, under the sanitizers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"
#include "opcheck.h"
#include "session/session.h"
#include "graph/backward.h"
#include "ops/ops.h"

/* ---- operators ---- */

static int ran, refused, differentiated;

static void hold_sentence(const OpCase *c, const Error *error) {
  check(error->text[0] && error->status != STATUS_OK && error->status != STATUS_INTERNAL, "%s: refused with '%s' (%s)",
        c->key, error->text, status_code(error->status));
}

static void run_graph(const OpCase *c, Graph *g) {
  Machine m;
  char problem[160];
  if (!machine_new(&m, g, 0xFF, problem)) return; /* its size is told by contents */
  case_feed(c, g, &m);
  machine_run(&m);
  const char *overrun = machine_overrun(&m);
  check(!*overrun, "%s: run writes past the end of %s", c->key, overrun);
  machine_free(&m);
}

/* Towards every fed float input at once; dy is zeros, if there are any. */
static void add_gradient(const OpCase *c, Graph *g, Error *error) {
  Value *xs[OPCASE_INPUTS], *dxs[OPCASE_INPUTS] = {0}, *y = opcase_output(g, 0);
  int count = 0;
  for (int i = 0; i < c->in_count; i++)
    if (!c->in[i].absent && !c->in[i].constant && c->in[i].type == DTYPE_FLOAT32) xs[count++] = opcase_value(g, i);
  if (!count || !y || y->type != DTYPE_FLOAT32 || !shape_is_concrete(&y->shape)) return;
  Value *dy = graph_value(g, "dy", DTYPE_FLOAT32, &y->shape, VALUE_INPUT);
  if (!dy) return;
  if (backward(g, y, dy, xs, count, dxs) != STATUS_OK) return hold_sentence(c, error);
  differentiated++;
  run_graph(c, g);
}

static void run_case(const OpCase *c, bool gradient) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  if (!g) refused++, hold_sentence(c, &error);
  else if (gradient) add_gradient(c, g, &error);
  else ran++, run_graph(c, g);
  arena_free(&arena);
}

static void set_dim(CaseInput *in, int k, Dim d) {
  in->shape.dim[k] = d;
  in->count = shape_elements(&in->shape);
  in->bytes = in->count * dtype_bytes(in->type);
}

static void both(const OpCase *c) {
  run_case(c, false);
  if (!c->text->no_grad) run_case(c, true);
}

/* Each dim of each fed input alone, and the batch: the first dim of all that have the first input's. */
static void run_empty(OpCase *c) {
  for (int i = 0; i < c->in_count; i++)
    for (int k = 0; k < c->in[i].shape.rank && !c->in[i].absent && !c->in[i].constant; k++) {
      Dim was = c->in[i].shape.dim[k];
      if (was == 0) continue;
      set_dim(&c->in[i], k, 0);
      both(c);
      set_dim(&c->in[i], k, was);
    }
  Dim batch = c->in_count && c->in[0].shape.rank ? c->in[0].shape.dim[0] : 0;
  for (int i = 0; i < c->in_count && batch; i++)
    if (!c->in[i].absent && !c->in[i].constant && c->in[i].shape.rank && c->in[i].shape.dim[0] == batch)
      set_dim(&c->in[i], 0, 0);
  if (batch) both(c);
}

static void an_operator_takes_nothing(const void *argument) {
  const Op *op = argument;
  ran = refused = differentiated = 0;
  for (const Case *text = op->cases; text && text->in; text++) {
    OpCase c;
    if (check(opcase_parse(op, text, &c), "%s: %s", c.key, c.problem)) run_empty(&c);
    opcase_free(&c);
  }
  test_note("%d ran, %d gradients, %d refused", ran, differentiated, refused);
}

/* ---- networks ---- */

static const char *const runs[] = {
    "w1",        "w2",          "mlp_momentum",   "cnn_bn",        "conv1d",         "tokens",  "recurrent",
    "unet",      "transformer", "transformer_13", "lora_linear",   "scripted",       "scanned", "decoder",
    "functions", "quantized",   "regression_mse", "regression_l1", "regression_bce", NULL};

/* Symbols are 0; what else there is, zeros. */
static bool feed_nothing(TrainletSession *s, TrainletPart part, const Graph *g) {
  for (int i = 0; i < g->input_count; i++) {
    const Value *v = g->inputs[i];
    Shape shape = v->shape;
    for (int k = 0; k < shape.rank; k++)
      if (dim_is_symbol(shape.dim[k])) shape.dim[k] = 0;
    void *to = trainlet_session_feed(s, part, v->name, (int)v->type, shape.rank, shape.dim);
    if (!check(to != NULL, "%s: %s", v->name, trainlet_session_error(s)->text)) return false;
    memset(to, 0, shape_elements(&shape) * dtype_bytes(v->type));
  }
  return true;
}

static void hold_status(TrainletSession *s, Status status, const char *what) {
  const Error *error = trainlet_session_error(s);
  check(status == error->status && (status == STATUS_OK || (error->text[0] && status != STATUS_INTERNAL)),
        "%s: '%s' (%s)", what, error->text, status_code(status));
}

static void step_on_nothing(TrainletSession *s) {
  int count = trainlet_session_parameter_count(s);
  size_t elements = trainlet_session_element_count(s, true);
  float *before = malloc((elements + 1) * sizeof *before), *after = malloc((elements + 1) * sizeof *after);
  trainlet_session_copy_out(s, true, before);
  if (feed_nothing(s, TRAINLET_TRAIN, s->models[MODEL_TRAIN].graph)) {
    Status status = trainlet_session_step(s);
    hold_status(s, status, "step");
    trainlet_session_copy_out(s, true, after);
    if (status != STATUS_OK)
      check(memcmp(before, after, elements * sizeof *before) == 0, "a refused step changed one of %d parameters",
            count);
  }
  if (feed_nothing(s, TRAINLET_EVAL, s->models[MODEL_EVAL].graph))
    hold_status(s, trainlet_session_run(s, TRAINLET_EVAL, NULL), "eval");
  free(before);
  free(after);
}

/* And the next batch trains as if nothing had been there. */
static void a_network_takes_a_batch_of_0(const void *name) {
  for (int passes = 0; passes < 2; passes++) {
    GoldenRun run;
    TrainletSession *s = golden_run_open_with(&run, name, passes ? NULL : "") ? golden_session(&run, NULL, 0) : NULL;
    if (s) {
      if (!passes) trainlet_session_set_passes(s, 0);
      step_on_nothing(s);
      check(isfinite(golden_step(&run, s, 0)), "the step after it has no loss");
      trainlet_session_free(s);
    }
    golden_run_close(&run);
  }
}

int main(int argc, char **argv) {
  trainlet_threads_start(3);
  for (int i = 0; op_at(i); i++)
    if (argc == 1 || strcmp(argv[1], op_at(i)->name) == 0)
      test_run(op_at(i)->name, an_operator_takes_nothing, op_at(i));
  for (int i = 0; runs[i]; i++)
    if (argc == 1 || strcmp(argv[1], runs[i]) == 0) test_run(runs[i], a_network_takes_a_batch_of_0, runs[i]);
  return test_finish();
}
