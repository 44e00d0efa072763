/* Trajectories: the golden networks trained natively, held to PyTorch's losses and to our own losses as literals.
 *
 *   test_trajectory              all tests
 *   test_trajectory --print      the losses as JSON: what tests/golden/data/engine-losses.json holds
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "golden_run.h"

static const char *const runs[] = {"w1",
                                   "w2",
                                   "mlp_momentum",
                                   "mlp_nesterov",
                                   "mlp_rmsprop",
                                   "mlp_frozen",
                                   "mlp_clip",
                                   "mlp_accumulate",
                                   "cnn_bn",
                                   "cnn_bn_head",
                                   "cnn_bn_frozen",
                                   "cnn_bn_finished",
                                   "conv1d",
                                   "tokens",
                                   "recurrent",
                                   "recurrent_sgd",
                                   "unet",
                                   "unet_sgd",
                                   "transformer",
                                   "transformer_13",
                                   "lora_linear",
                                   "causal",
                                   "scripted",
                                   "scanned",
                                   "decoder",
                                   "functions",
                                   "quantized",
                                   "regression_mse",
                                   "regression_l1",
                                   "regression_bce",
                                   "regression_huber",
                                   NULL};

/* ---- against PyTorch ---- */

static void check_losses(const GoldenRun *run, const double *losses) {
  const Json *want = json_get(json_get(run->recipe, "torch"), "losses64");
  double worst = 0;
  if (!check(json_length(want) == GOLDEN_STEPS, "the golden has %d losses", json_length(want))) return;
  int step = 0;
  for (const Json *loss = want->child; loss; loss = loss->next, step++) {
    double difference = fabs(losses[step] - loss->number) / fabs(loss->number);
    worst = fmax(worst, difference);
    check(difference <= 1e-5, "loss %d is %.9g, PyTorch's %.9g", step, losses[step], loss->number);
  }
  test_note("losses differ from PyTorch's by %.1e", worst);
}

/* Each parameter's change over the steps: Σ (p − p0) · u(i), allowed 1e-4 of Σ |p − p0| · |u(i)|. A frozen one has 0 of
 * 0. */
static void check_changes(const GoldenRun *run, TrainletSession *s, float *const *start) {
  const Json *changes = json_get(json_get(run->recipe, "torch"), "changes64");
  int found = 0;
  double worst = 0;
  for (int k = 0; k < trainlet_session_parameter_count(s); k++) {
    TrainletTensor p = trainlet_session_parameter(s, k);
    const Json *want = json_get(changes, p.name);
    if (!want) continue;
    double change = 0, size = want->child->next->number;
    for (size_t i = 0; i < p.count; i++)
      change += ((double)((const float *)p.data)[i] - start[k][i]) * batch_signed(7, i);
    double difference = fabs(change - want->child->number);
    check(difference <= 1e-4 * size, "%s changed by %.9g, in PyTorch by %.9g of %.3g", p.name, change,
          want->child->number, size);
    if (size > 0) worst = fmax(worst, difference / size);
    found++;
  }
  check(found == json_length(changes), "%d of the golden's %d parameters are in the session", found,
        json_length(changes));
  test_note(", changes of %d parameters by %.1e", found, worst);
}

static void check_eval(const GoldenRun *run, TrainletSession *s) {
  double want = json_number(json_get(run->recipe, "torch"), "evalLoss64", 0);
  if (!golden_feed(run, s, TRAINLET_EVAL, 0, 0) ||
      !golden_ok(s, trainlet_session_run(s, TRAINLET_EVAL, NULL), "eval step"))
    return;
  const TrainletTensor *loss = trainlet_session_output(s, 0);
  if (!check(loss && loss->count == 1 && loss->type == 1, "the eval step's first output is no loss")) return;
  double got = (double)*(const float *)loss->data;
  check(fabs(got - want) <= 1e-5 * fabs(want), "the loss in eval mode is %.9g, PyTorch's %.9g", got, want);
}

static float **copy_parameters(TrainletSession *s) {
  int count = trainlet_session_parameter_count(s);
  float **copies = calloc((size_t)count + 1, sizeof *copies);
  for (int k = 0; k < count; k++) {
    TrainletTensor p = trainlet_session_parameter(s, k);
    copies[k] = malloc(p.bytes + 1);
    memcpy(copies[k], p.data, p.bytes);
  }
  return copies;
}

static void free_copies(float **copies, int count) {
  for (int k = 0; k < count; k++) free(copies[k]);
  free(copies);
}

static bool train(const GoldenRun *run, TrainletSession *s, double losses[GOLDEN_STEPS]) {
  for (int step = 0; step < GOLDEN_STEPS; step++) losses[step] = golden_step(run, s, step);
  return check(isfinite(losses[GOLDEN_STEPS - 1]), "the last loss is %g", losses[GOLDEN_STEPS - 1]);
}

static void trajectory(const void *argument) {
  const char *name = argument;
  GoldenRun run;
  double losses[GOLDEN_STEPS] = {0};
  TrainletSession *s = golden_run_open(&run, name) ? golden_session(&run, NULL, 0) : NULL;
  if (s) {
    int count = trainlet_session_parameter_count(s);
    float **start = copy_parameters(s);
    train(&run, s, losses);
    check_losses(&run, losses);
    check_changes(&run, s, start);
    check_eval(&run, s);
    golden_check_losses(name, losses);
    free_copies(start, count);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static int print_losses(void) {
  for (int i = 0; runs[i]; i++) {
    GoldenRun run;
    TrainletSession *s = golden_run_open(&run, runs[i]) ? golden_session(&run, NULL, 0) : NULL;
    if (!s) return fprintf(stderr, "%s does not train\n", runs[i]), 1;
    printf("%s \"%s\": [", i ? ",\n" : "{\n", runs[i]);
    for (int step = 0; step < GOLDEN_STEPS; step++) printf("%s%.9g", step ? ", " : "", golden_step(&run, s, step));
    printf("]");
    trainlet_session_free(s);
    golden_run_close(&run);
  }
  printf("\n}\n");
  return 0;
}

/* ---- the session's own promises ---- */

/* Five steps, save, load into another session, five more: the bits of ten steps. */
static void resume_is_exact(const void *argument) {
  GoldenRun run;
  double whole[GOLDEN_STEPS] = {0};
  if (golden_run_open(&run, argument)) {
    TrainletSession *a = golden_session(&run, NULL, 0), *b = golden_session(&run, NULL, 0), *c = NULL;
    if (a && b) {
      train(&run, a, whole);
      for (int step = 0; step < 6; step++) golden_step(&run, b, step);
      size_t bytes;
      if (golden_ok(b, trainlet_session_save(b, true, TRAINLET_FORMAT_TRAINLET), "save")) {
        const void *saved = trainlet_session_result(b, &bytes);
        c = golden_session(&run, saved, bytes);
      }
      for (int step = 6; c && step < GOLDEN_STEPS; step++) {
        double loss = golden_step(&run, c, step);
        check(loss == whole[step], "loss %d after the resume is %.9g, without it %.9g", step, loss, whole[step]);
      }
      for (int k = 0; c && k < trainlet_session_parameter_count(c); k++) {
        TrainletTensor p = trainlet_session_parameter(c, k), q = trainlet_session_parameter(a, k);
        check(p.bytes == q.bytes && memcmp(p.data, q.data, p.bytes) == 0, "%s has other bits after the resume", p.name);
      }
    }
    if (a) trainlet_session_free(a);
    if (b) trainlet_session_free(b);
    if (c) trainlet_session_free(c);
  }
  golden_run_close(&run);
}

/* step() is train, optimize and reset in one. */
static void step_equals_its_parts(const void *argument) {
  GoldenRun run;
  TrainletSession *a = NULL, *b = NULL;
  if (golden_run_open(&run, "mlp_nesterov") && (a = golden_session(&run, NULL, 0)) &&
      (b = golden_session(&run, NULL, 0)))
    for (int step = 0; step < GOLDEN_STEPS; step++) {
      double one = golden_step(&run, a, step);
      golden_feed(&run, b, TRAINLET_TRAIN, step, 0);
      golden_ok(b, trainlet_session_run(b, TRAINLET_TRAIN, NULL), "train step");
      double parts = trainlet_session_loss(b);
      golden_ok(b, trainlet_session_optimize(b), "optimizer step");
      trainlet_session_reset_grad(b);
      check(one == parts, "loss %d is %.9g by step, %.9g by its parts", step, one, parts);
    }
  if (a) trainlet_session_free(a);
  if (b) trainlet_session_free(b);
  golden_run_close(&run);
}

static double eval_loss(const GoldenRun *run, TrainletSession *s, int batch) {
  if (!golden_feed(run, s, TRAINLET_EVAL, 0, batch) ||
      !golden_ok(s, trainlet_session_run(s, TRAINLET_EVAL, NULL), "eval step"))
    return NAN;
  return (double)*(const float *)trainlet_session_output(s, 0)->data;
}

/* Batches of other sizes in between, and eval steps, leave the training's bits alone. */
static void other_batch_sizes_change_nothing(const void *argument) {
  GoldenRun run;
  TrainletSession *a = NULL, *b = NULL;
  if (golden_run_open(&run, argument) && (a = golden_session(&run, NULL, 0)) && (b = golden_session(&run, NULL, 0)))
    for (int step = 0; step < GOLDEN_STEPS; step++) {
      double plain = golden_step(&run, a, step);
      double one = eval_loss(&run, b, 1 + step * 3), again = eval_loss(&run, b, 1 + step * 3);
      check(isfinite(one) && one == again, "the eval loss of %d examples is %.9g, then %.9g", 1 + step * 3, one, again);
      double mixed = golden_step(&run, b, step);
      check(plain == mixed, "loss %d is %.9g, with eval steps in between %.9g", step, plain, mixed);
    }
  if (a) trainlet_session_free(a);
  if (b) trainlet_session_free(b);
  golden_run_close(&run);
}

static bool same_parameters(TrainletSession *s, float *const *copies) {
  bool same = true;
  for (int k = 0; k < trainlet_session_parameter_count(s); k++) {
    TrainletTensor p = trainlet_session_parameter(s, k);
    same = same && memcmp(p.data, copies[k], p.bytes) == 0;
  }
  return same;
}

/* A loss that is not finite is an error, changes no parameter, and the next step works. */
static void a_nan_changes_nothing(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    golden_step(&run, s, 0);
    int count = trainlet_session_parameter_count(s);
    float **before = copy_parameters(s);
    golden_feed(&run, s, TRAINLET_TRAIN, 1, 0);
    float *input = trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){16, 20});
    if (check(input != NULL, "the feed is refused")) input[5] = NAN;
    check(trainlet_session_step(s) == STATUS_NON_FINITE_LOSS, "a NaN in the input is no error");
    for (int k = 0; k < count; k++) {
      TrainletTensor p = trainlet_session_parameter(s, k);
      check(memcmp(p.data, before[k], p.bytes) == 0, "%s changed", p.name);
    }
    free_copies(before, count);
    check(isfinite(golden_step(&run, s, 1)), "the next step fails");
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static void check_saves(TrainletSession *s, Status wanted, const char *named) {
  for (int format = TRAINLET_FORMAT_TRAINLET; format <= TRAINLET_FORMAT_ORT_2 + 1; format++) {
    bool exports = format > TRAINLET_FORMAT_ORT_2;
    Status status = exports ? trainlet_session_export(s, NULL, false)
                            : trainlet_session_save(s, true, (TrainletFormat)format);
    check(status == wanted && (!named || strstr(trainlet_session_error(s)->text, named)), "%s %d: %s, '%s'",
          exports ? "export" : "format", format, status_code(status), trainlet_session_error(s)->text);
  }
}

/* The step is refused: all is as it was, and can be saved. */
static void check_undone(TrainletSession *s, double rate, const char *named) {
  float **before = copy_parameters(s);
  double usual = trainlet_session_lr(s);
  trainlet_session_set_lr(s, rate);
  check(trainlet_session_step(s) == STATUS_NON_FINITE_LOSS && strstr(trainlet_session_error(s)->text, named), "'%s'",
        trainlet_session_error(s)->text);
  check(same_parameters(s, before), "the step is not undone");
  free_copies(before, trainlet_session_parameter_count(s));
  trainlet_session_set_lr(s, usual);
  check_saves(s, STATUS_OK, NULL);
}

/* A mask of −∞ that came from outside is saved; a step that overflows parameters is undone. */
static void a_step_beyond_float32_is_undone(const void *name) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, name) && (s = golden_session(&run, NULL, 0))) {
    size_t count = trainlet_session_element_count(s, true);
    float *all = calloc(count, sizeof *all), *mask = calloc(count, sizeof *mask);
    trainlet_session_copy_out(s, true, all);
    memcpy(mask, all, count * sizeof *all);
    mask[1] = -INFINITY, mask[2] = NAN;
    trainlet_session_copy_in(s, true, mask);
    check_saves(s, STATUS_OK, NULL);
    trainlet_session_copy_in(s, true, all);
    golden_step(&run, s, 0);
    golden_feed(&run, s, TRAINLET_TRAIN, 1, 0);
    /* AdamW's steps are as long as the rate, SGD's as the gradient */
    check_undone(s, strcmp(name, "cnn_bn") == 0 ? 3e38 : INFINITY, "' has ");
    check(isfinite(golden_step(&run, s, 1)), "the next step fails");
    *(float *)(uintptr_t)trainlet_session_parameter(s, 0).data = INFINITY;
    check_saves(s, STATUS_NON_FINITE_LOSS, "' has 1 values that are not finite: training");
    free(all);
    free(mask);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* One pixel beyond what a variance can hold: the loss is finite, the running variance is not. */
static void infinite_statistics_are_undone(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, "cnn_bn") && (s = golden_session(&run, NULL, 0))) {
    golden_feed(&run, s, TRAINLET_TRAIN, 0, 0);
    float *input = trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 4, (int64_t[]){6, 3, 12, 12});
    if (check(input != NULL, "%s", trainlet_session_error(s)->text)) input[5] = 1e25f;
    check_undone(s, trainlet_session_lr(s), "running statistic '");
    golden_feed(&run, s, TRAINLET_TRAIN, 0, 0);
    input = trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 4, (int64_t[]){6, 3, 12, 12});
    if (check(input != NULL, "%s", trainlet_session_error(s)->text)) input[5] = 1e25f;
    check(trainlet_session_run(s, TRAINLET_TRAIN, NULL) == STATUS_NON_FINITE_LOSS, "the run is fine");
    check_saves(s, STATUS_OK, NULL);
    check(isfinite(golden_step(&run, s, 0)), "the next step fails");
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* The parameters after a step, with what was kept at it, saved and loaded: gone back to, and forgotten. */
static void the_best_is_kept_with_the_checkpoint(const void *name) {
  GoldenRun run;
  TrainletSession *s = NULL, *t = NULL;
  if (golden_run_open(&run, name) && (s = golden_session(&run, NULL, 0))) {
    int count = trainlet_session_parameter_count(s);
    size_t bytes, without;
    for (int step = 0; step < 3; step++) golden_step(&run, s, step);
    float **best = copy_parameters(s);
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "save");
    trainlet_session_result(s, &without);
    golden_ok(s, trainlet_session_best(s, TRAINLET_BEST_KEEP), "keep");
    for (int step = 3; step < 6; step++) golden_step(&run, s, step);
    float **last = copy_parameters(s);
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "save");
    const void *saved = trainlet_session_result(s, &bytes);
    check(bytes > without, "it is not in the checkpoint");
    if ((t = golden_session(&run, saved, bytes))) {
      check(same_parameters(t, last), "the checkpoint's parameters are others");
      golden_ok(t, trainlet_session_best(t, TRAINLET_BEST_RESTORE), "restore");
      check(same_parameters(t, best), "the best are others");
      golden_ok(t, trainlet_session_best(t, TRAINLET_BEST_FORGET), "forget");
      golden_ok(t, trainlet_session_save(t, true, TRAINLET_FORMAT_TRAINLET), "save");
      trainlet_session_result(t, &bytes);
      check(bytes == without, "%zu bytes are saved once it was forgotten, %zu without it", bytes, without);
      trainlet_session_free(t);
    }
    free_copies(best, count);
    free_copies(last, count);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* Runs that are given up leave no trace: not in running statistics, not in the random numbers of the runs after. */
static void given_up_gradients_leave_no_trace(const void *name) {
  GoldenRun run;
  TrainletSession *a = NULL, *b = NULL;
  if (golden_run_open(&run, name) && (a = golden_session(&run, NULL, 0)) && (b = golden_session(&run, NULL, 0))) {
    golden_step(&run, a, 0);
    golden_step(&run, b, 0);
    for (int step = 1; step < 4; step++) {
      golden_feed(&run, b, TRAINLET_TRAIN, step, 0);
      golden_ok(b, trainlet_session_run(b, TRAINLET_TRAIN, NULL), "run");
    }
    trainlet_session_drop_grad(b);
    trainlet_session_drop_grad(b);
    for (int step = 1; step < 3; step++) {
      double want = golden_step(&run, a, step), got = golden_step(&run, b, step);
      check(got == want, "loss %d is %.9g, without the runs %.9g", step, got, want);
    }
    float **wanted = copy_parameters(a);
    check(same_parameters(b, wanted), "a parameter or statistic is another");
    free_copies(wanted, trainlet_session_parameter_count(a));
  }
  if (a) trainlet_session_free(a);
  if (b) trainlet_session_free(b);
  golden_run_close(&run);
}

static void wrong_feeds_are_refused(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, "inputs", 1, 2, (int64_t[]){16, 20}), "a wrong name is accepted");
    check(trainlet_session_error(s)->status == STATUS_INVALID_FEED, "a wrong name: %s",
          trainlet_session_error(s)->text);
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, "input", 7, 2, (int64_t[]){16, 20}), "a wrong type is accepted");
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){16, 21}), "a wrong shape is accepted");
    check(strstr(trainlet_session_error(s)->text, "21") != NULL, "the sentence does not tell the shape: %s",
          trainlet_session_error(s)->text);
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 3, (int64_t[]){16, 20, 1}), "a wrong rank is accepted");
    check(isfinite(golden_step(&run, s, 0)), "a step after wrong feeds fails");
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--print") == 0) return print_losses();
  for (int i = 0; runs[i]; i++)
    if (argc == 1 || strcmp(argv[1], runs[i]) == 0) test_run(runs[i], trajectory, runs[i]);
  if (argc > 1) return test_finish();
  test_run("resume_is_exact (Nesterov)", resume_is_exact, "mlp_nesterov");
  test_run("resume_is_exact (AdamW, accumulated)", resume_is_exact, "mlp_accumulate");
  test_run("resume_is_exact (BatchNorm)", resume_is_exact, "cnn_bn");
  test_run("resume_is_exact (RMSprop with momentum)", resume_is_exact, "mlp_rmsprop");
  test_run("resume_is_exact (RMSprop, Huber)", resume_is_exact, "regression_huber");
  TEST(step_equals_its_parts);
  test_run("other_batch_sizes_change_nothing (MLP)", other_batch_sizes_change_nothing, "mlp_clip");
  test_run("other_batch_sizes_change_nothing (BatchNorm)", other_batch_sizes_change_nothing, "cnn_bn");
  TEST(a_nan_changes_nothing);
  test_run("a_step_beyond_float32_is_undone (momentum)", a_step_beyond_float32_is_undone, "mlp_momentum");
  test_run("a_step_beyond_float32_is_undone (AdamW)", a_step_beyond_float32_is_undone, "cnn_bn");
  TEST(infinite_statistics_are_undone);
  test_run("the_best_is_kept_with_the_checkpoint (frozen)", the_best_is_kept_with_the_checkpoint, "mlp_frozen");
  test_run("the_best_is_kept_with_the_checkpoint (BatchNorm)", the_best_is_kept_with_the_checkpoint, "cnn_bn");
  test_run("given_up_gradients_leave_no_trace (BatchNorm)", given_up_gradients_leave_no_trace, "cnn_bn");
  test_run("given_up_gradients_leave_no_trace (Nesterov)", given_up_gradients_leave_no_trace, "mlp_nesterov");
  TEST(wrong_feeds_are_refused);
  return test_finish();
}
