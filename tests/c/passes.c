/* Passes: losses with each pass off, and with all off, are those with all on.
 *
 *   test_passes                     all tests
 *   test_passes --bench RUN…        what each pass brings on golden runs: a step's time without it over the time with
 * all
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "golden_run.h"
#include "ort_set.h"

enum { STEPS = 5, PASSES_MAX = 32 };

static const char *const runs[] = {"w1",
                                   "w2",
                                   "mlp_momentum",
                                   "mlp_frozen",
                                   "mlp_accumulate",
                                   "cnn_bn",
                                   "cnn_bn_head",
                                   "cnn_bn_frozen",
                                   "cnn_bn_finished",
                                   "conv1d",
                                   "tokens",
                                   "recurrent",
                                   "unet",
                                   "transformer",
                                   "transformer_13",
                                   "lora_linear",
                                   "causal",
                                   "scripted",
                                   "scanned",
                                   "decoder",
                                   "quantized",
                                   "regression_mse",
                                   "regression_l1",
                                   "regression_bce",
                                   NULL};

static int pass_count(void) {
  int count = 0;
  while (trainlet_pass_name(count)) count++;
  return count;
}

/* Mask 0 has all passes off and is the reference; then all on; then each off. */
static unsigned mask_of(int i) { return i == 0 ? 0 : i == 1 ? ~0u : ~(1u << (i - 2)); }
static const char *mask_name(int i) { return i == 0 ? "no passes" : i == 1 ? "all passes" : trainlet_pass_name(i - 2); }

/* Names of the mask's passes, joined by commas. */
static const char *names_of(unsigned mask) {
  static char text[512];
  size_t at = 0;
  text[0] = 0;
  for (int i = 0; trainlet_pass_name(i); i++)
    if (mask >> i & 1)
      at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? "," : "", trainlet_pass_name(i));
  return text;
}

static void compare(const double *want, const double *got, int count, int mask, double *worst) {
  for (int i = 0; i < count; i++) {
    double difference = fabs(got[i] - want[i]) / fabs(want[i]);
    *worst = fmax(*worst, difference);
    check(difference <= 1e-5, "%s%s: loss %d is %.9g, with no passes %.9g", mask >= 2 ? "without " : "",
          mask_name(mask), i, got[i], want[i]);
  }
}

/* Artifacts and session with the mask's passes; NULL when they do not come up. */
static TrainletSession *open_session(GoldenRun *run, const char *name, unsigned mask) {
  TrainletSession *s = golden_run_open_with(run, name, names_of(mask)) ? golden_session(run, NULL, 0) : NULL;
  if (s) trainlet_session_set_passes(s, mask);
  return s;
}

static void golden_losses(const char *name, unsigned mask, double losses[STEPS + 1]) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, name, mask);
  for (int step = 0; s && step < STEPS; step++) losses[step] = golden_step(&run, s, step);
  if (s && golden_feed(&run, s, TRAINLET_EVAL, 0, 0) &&
      golden_ok(s, trainlet_session_run(s, TRAINLET_EVAL, NULL), "eval step"))
    losses[STEPS] = (double)*(const float *)trainlet_session_output(s, 0)->data;
  if (s) trainlet_session_free(s);
  golden_run_close(&run);
}

static void a_golden_run_keeps_its_losses(const void *name) {
  double losses[PASSES_MAX + 2][STEPS + 1] = {{0}}, worst = 0;
  for (int i = 0; i < pass_count() + 2; i++) {
    golden_losses(name, mask_of(i), losses[i]);
    if (i > 0) compare(losses[0], losses[i], STEPS + 1, i, &worst);
  }
  test_note("losses differ by %.1e", worst);
}

static void an_ort_set_keeps_its_losses(const void *name) {
  OrtSet set;
  double losses[PASSES_MAX + 2][STEPS + 1] = {{0}}, worst = 0;
  bool open = ort_set_open(&set, name);
  for (int i = 0; open && i < pass_count() + 2; i++) {
    TrainletSession *s = ort_set_session(&set, NULL, 0);
    if (!s) break;
    trainlet_session_set_passes(s, mask_of(i));
    for (int step = 0; step < STEPS; step++) losses[i][step] = ort_set_step(&set, s);
    losses[i][STEPS] = ort_set_run(&set, s, TRAINLET_EVAL);
    trainlet_session_free(s);
    if (i > 0) compare(losses[0], losses[i], STEPS + 1, i, &worst);
  }
  test_note("losses differ by %.1e", worst);
  ort_set_close(&set);
}

/* ---- inference ---- */

/* The model's scores for its recipe's batch, copied; NULL when it does not run. */
static float *scores_of(const void *model, size_t bytes, const GoldenRun *run, unsigned mask, size_t *count) {
  TrainletSession *s = trainlet_session_new();
  float *scores = NULL;
  trainlet_session_set_passes(s, mask);
  bool ready = golden_ok(s, trainlet_session_load(s, TRAINLET_MODEL, model, bytes), "load") &&
               golden_ok(s, trainlet_session_ready(s), "ready");
  if (ready && golden_feed_input(run, s, TRAINLET_MODEL) &&
      golden_ok(s, trainlet_session_run(s, TRAINLET_MODEL, NULL), "run")) {
    const TrainletTensor *y = trainlet_session_output(s, 0);
    *count = y->count;
    if ((scores = malloc(y->bytes))) memcpy(scores, y->data, y->bytes);
  }
  trainlet_session_free(s);
  return scores;
}

static void inference_keeps_its_scores(const void *name) {
  GoldenRun run;
  size_t bytes, count = 0;
  double worst = 0;
  char path[200];
  if (golden_run_open(&run, name)) {
    snprintf(path, sizeof path, "tests/golden/data/%s", json_text(run.recipe, "model"));
    const void *model = file_read(&run.arena, path, &bytes);
    float *want = scores_of(model, bytes, &run, 0, &count);
    for (int i = 1; want && i < pass_count() + 2; i++) {
      float *got = scores_of(model, bytes, &run, mask_of(i), &count);
      for (size_t k = 0; got && k < count; k++) {
        double difference = fabs((double)got[k] - (double)want[k]);
        worst = fmax(worst, difference);
        if (!check(difference <= 2e-5, "%s%s: score %zu is %.9g, with no passes %.9g", i >= 2 ? "without " : "",
                   mask_name(i), k, (double)got[k], (double)want[k]))
          break;
      }
      free(got);
    }
    free(want);
  }
  test_note("scores differ by %.1e", worst);
  golden_run_close(&run);
}

/* ---- memory ---- */

static double memory_of(TrainletSession *s, const char *key) {
  Arena arena = {0};
  const char *text = trainlet_session_json(s);
  const Json *all = text ? json_parse(&arena, arena_copy_text(&arena, text)) : NULL;
  double bytes = json_number(json_get(all, "memory"), key, 0);
  arena_free(&arena);
  return bytes;
}

/* Ten steps with these passes under a limit (0: none); what was taken after them goes to `taken` and `arena`. Gives how
 * the last ended. */
static Status steps_under(const GoldenRun *run, unsigned mask, double limit, double losses[GOLDEN_STEPS], double *taken,
                          double *arena) {
  TrainletSession *s = golden_session(run, NULL, 0);
  Status status = s ? STATUS_OK : STATUS_INTERNAL;
  if (s) trainlet_session_limit(s, limit), trainlet_session_set_passes(s, mask);
  for (int step = 0; step < GOLDEN_STEPS && status == STATUS_OK; step++) {
    status = golden_feed(run, s, TRAINLET_TRAIN, step, 0) ? trainlet_session_step(s) : STATUS_INTERNAL;
    losses[step] = trainlet_session_loss(s);
  }
  if (s) *taken = memory_of(s, "takenBytes"), *arena = memory_of(s, "arenaBytes");
  trainlet_session_free(s);
  return status;
}

/* A limit of 94 % of the step's memory: cheap values are computed twice, to the same bits; without that pass the step
 * is refused. */
static void a_limit_is_kept_by_computing_again(const void *name) {
  GoldenRun run;
  double losses[GOLDEN_STEPS], again[GOLDEN_STEPS], taken, arena, less, lowest;
  const unsigned all = ~0u, none = 0;
  if (golden_run_open(&run, name) && steps_under(&run, all, 0, losses, &taken, &arena) == STATUS_OK) {
    double limit = taken - 0.06 * arena;
    Status status = steps_under(&run, all, limit, again, &less, &lowest);
    check(status == STATUS_OK && less <= limit, "the steps take %.0f bytes, the limit is %.0f", less, limit);
    check(lowest <= 0.94 * arena, "the arena has %.0f bytes of %.0f", lowest, arena);
    for (int step = 0; step < GOLDEN_STEPS; step++)
      check(again[step] == losses[step], "loss %d is %.9g, without the limit %.9g", step, again[step], losses[step]);
    test_note("%.1f %% of the step's memory", 100 * lowest / arena);
    steps_under(&run, none, 0, again, &taken, &arena);
    check(steps_under(&run, none, taken - 0.06 * arena, again, &less, &lowest) == STATUS_OUT_OF_MEMORY,
          "the limit does not bind");
  }
  golden_run_close(&run);
}

static TrainletTensor parameter_named(TrainletSession *s, const char *name) {
  for (int i = 0; i < trainlet_session_parameter_count(s); i++)
    if (strcmp(trainlet_session_parameter(s, i).name, name) == 0) return trainlet_session_parameter(s, i);
  check(false, "there is no parameter %s", name);
  return (TrainletTensor){0};
}

/* Losses of a step, of a step with the frozen weights made smaller, and of one with them set by the contiguous buffer.
 */
static void frozen_losses(unsigned mask, double losses[3], double *packed_bytes) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, "cnn_bn_head", mask);
  if (s) {
    losses[0] = golden_step(&run, s, 0);
    TrainletTensor w = parameter_named(s, "grouped.weight");
    for (size_t i = 0; i < w.count; i++) ((float *)w.data)[i] *= 0.5f;
    losses[1] = golden_step(&run, s, 0);
    size_t count = trainlet_session_element_count(s, false);
    float *all = calloc(count, sizeof *all);
    trainlet_session_copy_out(s, false, all);
    for (size_t i = 0; all && i < count; i++) all[i] *= 0.75f;
    if (all) trainlet_session_copy_in(s, false, all);
    free(all);
    losses[2] = golden_step(&run, s, 0);
    *packed_bytes = memory_of(s, "packedBytes");
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static void packed_weights_follow_their_parameters(const void *argument) {
  double with[3] = {0}, without[3] = {0}, bytes = 0, none = 0;
  frozen_losses(~0u, with, &bytes);
  frozen_losses(0, without, &none);
  check(bytes > 0 && none == 0, "%.0f bytes are packed, %.0f without passes", bytes, none);
  for (int i = 0; i < 3; i++)
    check(fabs(with[i] - without[i]) <= 1e-5 * fabs(without[i]), "loss %d is %.9g, without packing %.9g", i, with[i],
          without[i]);
  check(fabs(with[0] - with[1]) > 1e-4 && fabs(with[1] - with[2]) > 1e-4, "the losses do not tell the weights apart");
}

/* Placement may cost a tenth at most of the bytes that are alive at once, or a kilobyte. */
static void a_plan_is_near_its_lower_bound(const void *name) {
  GoldenRun run;
  TrainletSession *s = golden_run_open(&run, name) ? golden_session(&run, NULL, 0) : NULL;
  if (s) {
    golden_step(&run, s, 0);
    double arena = memory_of(s, "arenaBytes"), bound = memory_of(s, "lowerBoundBytes");
    check(bound > 0 && arena <= 1.1 * bound + 1024, "the step takes %.0f bytes, %.0f are alive at once", arena, bound);
    test_note("×%.3f", arena / bound);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* A program belongs to the passes it was made with. */
static void passes_change_between_steps(const void *argument) {
  GoldenRun run;
  TrainletSession *a = NULL, *b = NULL;
  if (golden_run_open(&run, "mlp_clip") && (a = golden_session(&run, NULL, 0)) && (b = golden_session(&run, NULL, 0)))
    for (int step = 0; step < GOLDEN_STEPS; step++) {
      trainlet_session_set_passes(b, mask_of(step % 3));
      double plain = golden_step(&run, a, step), mixed = golden_step(&run, b, step);
      check(fabs(plain - mixed) <= 1e-5 * fabs(plain), "loss %d is %.9g, with other passes every step %.9g", step,
            plain, mixed);
    }
  if (a) trainlet_session_free(a);
  if (b) trainlet_session_free(b);
  golden_run_close(&run);
}

/* ---- bench ---- */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* a busy machine disturbs it less */
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Sessions that differ in their passes alone take turns; the least time of each counts. */
static void bench(const char *name) {
  GoldenRun run[PASSES_MAX + 2];
  int count = pass_count() + 2, rounds = 0;
  double best[PASSES_MAX + 2], start = now_ms();
  TrainletSession *s[PASSES_MAX + 2];
  for (int i = 0; i < count; i++) {
    if (!(s[i] = open_session(&run[i], name, mask_of(i)))) return;
    best[i] = INFINITY;
  }
  for (; rounds < 15 || (rounds < 300 && now_ms() - start < 20000); rounds++)
    for (int i = 0; i < count; i++) {
      golden_feed(&run[i], s[i], TRAINLET_TRAIN, 0, 0);
      double from = now_ms();
      if (json_number(run[i].recipe, "accumulate", 1) > 1)
        trainlet_session_run(s[i], TRAINLET_TRAIN, NULL); /* added to the first's gradients */
      else trainlet_session_step(s[i]);
      best[i] = fmin(best[i], now_ms() - from);
    }
  printf("%s: %.3f ms with all passes, %d rounds; without any ×%.3f", name, best[1], rounds, best[0] / best[1]);
  for (int i = 2; i < count; i++) printf(", %s ×%.3f", mask_name(i), best[i] / best[1]);
  printf("\n");
  for (int i = 0; i < count; i++) trainlet_session_free(s[i]), golden_run_close(&run[i]);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
    for (int i = 2; i < argc; i++) bench(argv[i]);
    return 0;
  }
  for (int i = 0; runs[i]; i++) test_run(runs[i], a_golden_run_keeps_its_losses, runs[i]);
  test_run("mnist_web", an_ort_set_keeps_its_losses, "mnist_web");
  test_run("ort_testdata", an_ort_set_keeps_its_losses, "ort_testdata");
  static const char *const models[] = {"w2", "cnn_bn_finished", "transformer", "transformer_13", "lora_linear"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    char title[80];
    snprintf(title, sizeof title, "inference_keeps_its_scores (%s)", models[i]);
    test_run(title, inference_keeps_its_scores, models[i]);
  }
  static const char *const limited[] = {"w2", "cnn_bn", "transformer", "transformer_13"};
  for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
    char title[80];
    snprintf(title, sizeof title, "a_limit_is_kept_by_computing_again (%s)", limited[i]);
    test_run(title, a_limit_is_kept_by_computing_again, limited[i]);
  }
  TEST(packed_weights_follow_their_parameters);
  for (int i = 0; runs[i]; i++) {
    char title[80];
    snprintf(title, sizeof title, "a_plan_is_near_its_lower_bound (%s)", runs[i]);
    test_run(title, a_plan_is_near_its_lower_bound, runs[i]);
  }
  TEST(passes_change_between_steps);
  return test_finish();
}
