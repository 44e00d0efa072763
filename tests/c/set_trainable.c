/* Set trainable: other parameters train after a while, held to PyTorch's losses and changes; saved, and refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

/* The finaliser lowbias32, as in make_w.py. */
static double unit(uint32_t seed, uint32_t i) {
  uint32_t x = i + seed * 0x9E3779B9u;
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  x ^= x >> 16;
  return (double)(x >> 8) / (1 << 24);
}

static bool choose(TrainletSession *s, const Json *phase) {
  char lines[256] = "";
  for (const Json *glob = json_get(phase, "trainable")->child; glob; glob = glob->next)
    strcat(strcat(lines, *lines ? "\n" : ""), glob->text);
  return golden_ok(s, trainlet_session_set_trainable(s, lines), lines);
}

static const char *name_of(TrainletSession *s, int i) { return trainlet_session_parameter(s, i).name; }

static float *copy_all(TrainletSession *s) {
  float *all = calloc(trainlet_session_element_count(s, TRAINLET_ALL), sizeof *all);
  trainlet_session_copy_out(s, TRAINLET_ALL, all);
  return all;
}

/* Σ (p − p0) · u(i) of each parameter. */
static void check_changes(const GoldenRun *run, TrainletSession *s, const float *before) {
  const Json *want = json_get(json_get(run->recipe, "torch"), "changes64");
  float *after = copy_all(s);
  for (int i = 0, at = 0; i < trainlet_session_parameter_count(s); i++) {
    size_t count = trainlet_session_parameter(s, i).count;
    double change = 0;
    for (size_t k = 0; k < count; k++, at++)
      change += ((double)after[at] - before[at]) * (2 * unit(7, (uint32_t)k) - 1);
    const Json *pair = json_get(want, name_of(s, i));
    if (!check(pair != NULL, "PyTorch has no '%s'", name_of(s, i))) continue;
    double sum = pair->child->number, size = pair->child->next->number;
    check(fabs(change - sum) <= 1e-4 * size, "'%s' changed by %g, in PyTorch by %g of %g", name_of(s, i), change, sum,
          size);
  }
  free(after);
}

static void phases_are_as_in_pytorch(const void *name) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, name) && (s = golden_session(&run, NULL, 0))) {
    float *before = copy_all(s);
    const Json *loss = json_get(json_get(run.recipe, "torch"), "losses64")->child;
    double worst = 0;
    int step = 0;
    for (const Json *phase = json_get(run.recipe, "phases")->child; phase && choose(s, phase); phase = phase->next)
      for (int i = 0; i < json_number(phase, "steps", 0) && loss; i++, step++, loss = loss->next)
        worst = fmax(worst, fabs(golden_step(&run, s, step) - loss->number) / fabs(loss->number));
    check(!loss, "%d steps were done", step);
    check(worst <= 1e-4, "losses differ from PyTorch's by %g", worst);
    test_note("losses differ from PyTorch's by %.1e", worst);
    check_changes(&run, s, before);
    free(before);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* Saved in the third phase: what trains, and the moments and steps of what is frozen. */
static void a_choice_is_saved(const void *name) {
  GoldenRun run;
  TrainletSession *s = NULL, *resumed = NULL;
  if (golden_run_open(&run, name) && (s = golden_session(&run, NULL, 0))) {
    int step = 0;
    size_t bytes;
    const Json *first = json_get(run.recipe, "phases")->child;
    for (const Json *phase = first; phase && choose(s, phase); phase = phase->next)
      for (int i = 0; i < 3; i++) golden_step(&run, s, step++);
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "save");
    const void *saved = trainlet_session_result(s, &bytes);
    if ((resumed = golden_session(&run, saved, bytes))) {
      for (int i = 0; i < trainlet_session_parameter_count(s); i++)
        check(trainlet_session_parameter_trainable(s, i) == trainlet_session_parameter_trainable(resumed, i),
              "'%s' is resumed otherwise", name_of(s, i));
      for (int i = 0; i < 6; i++, step++) {
        if (i == 3) choose(s, first), choose(resumed, first);
        double here = golden_step(&run, s, step), there = golden_step(&run, resumed, step);
        check(here == there, "step %d: the loss is %.9g, resumed %.9g", step, here, there);
      }
      trainlet_session_free(resumed);
    }
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static void refuse(TrainletSession *s, const char *patterns, const char *sentence) {
  Status status = trainlet_session_set_trainable(s, patterns);
  check(status == STATUS_INVALID_ARGUMENT, "'%s' gives status %d", patterns, status);
  check(strstr(trainlet_session_error(s)->text, sentence) != NULL, "'%s' is refused with: %s", patterns,
        trainlet_session_error(s)->text);
}

static void bad_choices_change_nothing(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL, *other = NULL;
  if (golden_run_open(&run, "cnn_bn") && (s = golden_session(&run, NULL, 0)) &&
      (other = golden_session(&run, NULL, 0))) {
    refuse(s, "fc.*\nhead.*", "'head.*' matches no float32 parameter");
    refuse(s, "bn1.running_mean", "'bn1.running_mean' matches no float32 parameter");
    refuse(s, "", "no parameter is left to train");
    float *weight = (float *)(uintptr_t)trainlet_session_parameter(s, 0).data, kept = weight[0];
    weight[0] = -INFINITY;
    refuse(s, name_of(s, 0), "not finite");
    weight[0] = kept;
    for (int step = 0; step < 3; step++)
      check(golden_step(&run, s, step) == golden_step(&run, other, step), "step %d has another loss", step);
  }
  trainlet_session_free(s);
  trainlet_session_free(other);
  golden_run_close(&run);
}

/* Freezing skips what only the frozen parameters' gradients needed. */
static void freezing_saves_work(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, "transformer") && (s = golden_session(&run, NULL, 0))) {
    golden_step(&run, s, 0);
    size_t all = strlen(trainlet_session_graph(s, TRAINLET_TRAIN));
    golden_ok(s, trainlet_session_set_trainable(s, "head.*"), "setTrainable");
    golden_step(&run, s, 1);
    size_t head = strlen(trainlet_session_graph(s, TRAINLET_TRAIN));
    check(head * 2 < all, "the graph's text has %zu letters, of the head alone %zu", all, head);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* To a graph that another choice has made, too. */
static void input_gradients_after_a_choice(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    golden_ok(s, trainlet_session_set_trainable(s, name_of(s, 0)), "setTrainable");
    golden_ok(s, trainlet_session_input_gradient(s, TRAINLET_TRAIN, "input"), "inputGradients");
    golden_feed(&run, s, TRAINLET_TRAIN, 0, 0);
    golden_ok(s, trainlet_session_run(s, TRAINLET_TRAIN, "input_grad"), "train run");
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static void gradients_are_told(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    const float *gradient = trainlet_session_gradient(s, 0);
    check(gradient && gradient[0] == 0, "a gradient before any run is not 0");
    float before = *(const float *)trainlet_session_parameter(s, 0).data;
    golden_feed(&run, s, TRAINLET_TRAIN, 0, 0);
    golden_ok(s, trainlet_session_run(s, TRAINLET_TRAIN, NULL), "train run");
    float once = trainlet_session_gradient(s, 0)[0];
    golden_feed(&run, s, TRAINLET_TRAIN, 0, 0);
    golden_ok(s, trainlet_session_run(s, TRAINLET_TRAIN, NULL), "train run");
    check(once != 0 && trainlet_session_gradient(s, 0)[0] == once + once, "twice the same batch does not give twice");
    golden_ok(s, trainlet_session_optimize(s), "optimize");
    double moved = before - *(const float *)trainlet_session_parameter(s, 0).data;
    check(fabs(moved - trainlet_session_lr(s) * 2 * (double)once) <= 1e-6, "the step is no multiple of the gradient");
    trainlet_session_reset_grad(s);
    check(trainlet_session_gradient(s, 0)[0] == 0, "a gradient after the reset is not 0");
    golden_ok(s, trainlet_session_set_trainable(s, name_of(s, 1)), "setTrainable");
    check(!trainlet_session_gradient(s, 0), "a frozen parameter has a gradient");
    check(strstr(trainlet_session_error(s)->text, "does not train") != NULL, "the sentence is: %s",
          trainlet_session_error(s)->text);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

int main(void) {
  test_run("phases_are_as_in_pytorch (transformer)", phases_are_as_in_pytorch, "trainable/transformer");
  test_run("phases_are_as_in_pytorch (BatchNorm)", phases_are_as_in_pytorch, "trainable/cnn_bn");
  test_run("a_choice_is_saved (transformer)", a_choice_is_saved, "trainable/transformer");
  test_run("a_choice_is_saved (BatchNorm)", a_choice_is_saved, "trainable/cnn_bn");
  TEST(bad_choices_change_nothing);
  TEST(freezing_saves_work);
  TEST(input_gradients_after_a_choice);
  TEST(gradients_are_told);
  return test_finish();
}
