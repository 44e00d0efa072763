/* Groups, an average of the parameters and clipping by value, natively: what a step makes of them, saved and resumed,
 * and what is refused. Their numbers are held to PyTorch's by tests/js/fine-tune/building-blocks.test.js. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

static float *copy_all(TrainletSession *s) {
  float *all = calloc(trainlet_session_element_count(s, TRAINLET_ALL), sizeof *all);
  trainlet_session_copy_out(s, TRAINLET_ALL, all);
  return all;
}

static bool same(TrainletSession *s, const float *a, const float *b) {
  return memcmp(a, b, trainlet_session_element_count(s, TRAINLET_ALL) * sizeof *a) == 0;
}

static TrainletSession *resumed(const GoldenRun *run, TrainletSession *s) {
  size_t bytes;
  if (!golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "saving")) return NULL;
  const void *checkpoint = trainlet_session_result(s, &bytes);
  return golden_session(run, checkpoint, bytes);
}

/* Steps of both give the same bits. */
static void check_goes_on(const GoldenRun *run, TrainletSession *a, TrainletSession *b, int step) {
  for (int end = step + 3; step < end; step++) golden_step(run, a, step), golden_step(run, b, step);
  float *x = copy_all(a), *y = copy_all(b);
  check(same(a, x, y), "it goes on to other bits");
  free(x), free(y);
}

static void groups_have_their_own_rate(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL, *later = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    float *before = copy_all(s), *after;
    golden_ok(s, trainlet_session_set_groups(s, "*\n0.5\n0.25\n\nfc1.*\n0\n\n\n*.bias\n\n0\n\n"), "groups");
    golden_step(&run, s, 0);
    after = copy_all(s);
    for (int i = 0, at = 0; i < trainlet_session_parameter_count(s); i++) {
      TrainletTensor p = trainlet_session_parameter(s, i);
      bool moved = memcmp(before + at, after + at, p.bytes) != 0;
      check(moved != (strcmp(p.name, "fc1.weight") == 0), "'%s' has %smoved", p.name, moved ? "" : "not ");
      at += (int)p.count;
    }
    if ((later = resumed(&run, s))) check_goes_on(&run, s, later, 1), trainlet_session_free(later);
    free(before), free(after);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static void bad_groups_change_nothing(const void *argument) {
  (void)argument;
  static const char *const bad[][2] = {
      {"fc1.*\n2\n\n\nnothing\n\n\n\n", "'nothing' matches no float32 parameter"},
      {"fc1.*\n-1\n\n\n", "lrScale of 'fc1.*' must be a number from 0 up, not -1"},
      {"fc1.*\n\ninf\n\n", "weightDecay of 'fc1.*' must be a number from 0 up, not inf"},
      {"fc1.*\n1e\n\n\n", "must be a number from 0 up, not 1e"},
      {"fc1.*\n\n\nnan\n", "anchor of 'fc1.*' must be a number from 0 up, not nan"},
      {"\n\n\n\n", "'' matches no float32 parameter"},
  };
  GoldenRun run;
  TrainletSession *s = NULL, *plain = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      check(trainlet_session_set_groups(s, bad[i][0]) == STATUS_INVALID_ARGUMENT, "%s is taken", bad[i][1]);
      check(strstr(trainlet_session_error(s)->text, bad[i][1]) != NULL, "it says %s", trainlet_session_error(s)->text);
    }
    golden_ok(s, trainlet_session_set_groups(s, "*\n3\n\n0.5\n"), "groups");
    golden_ok(s, trainlet_session_set_groups(s, ""), "no groups");
    if ((plain = golden_session(&run, NULL, 0))) check_goes_on(&run, s, plain, 0), trainlet_session_free(plain);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static double distance(TrainletSession *s, const float *from) {
  float *now = copy_all(s);
  double sum = 0;
  for (size_t i = 0; i < trainlet_session_element_count(s, TRAINLET_ALL); i++) sum += pow(now[i] - from[i], 2);
  return free(now), sqrt(sum);
}

/* One session is anchored from the start, the other from step 3 on. */
static void the_base_draws(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL, *plain = NULL, *later = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0)) &&
      (plain = golden_session(&run, NULL, 0))) {
    float *start = copy_all(s);
    golden_ok(s, trainlet_session_set_groups(s, "*\n\n\n4\n"), "an anchor");
    for (int step = 0; step < 8; step++) golden_step(&run, s, step), golden_step(&run, plain, step);
    check(distance(s, start) < 0.5 * distance(plain, start), "it went as far: %g and %g", distance(s, start),
          distance(plain, start));
    /* a base stays when the strength changes, and goes on to the bit */
    golden_ok(s, trainlet_session_set_groups(s, "*\n\n\n8\n"), "a stronger one");
    if ((later = resumed(&run, s))) {
      check_goes_on(&run, s, later, 8);
      double before = distance(s, start);
      for (int step = 0; step < 20; step++) golden_step(&run, s, 0);
      check(distance(s, start) < 2 * before, "the base moved: %g, before %g", distance(s, start), before);
      trainlet_session_free(later);
    }
    free(start);
    /* none: as if there had never been any */
    golden_ok(plain, trainlet_session_set_groups(plain, "*\n\n\n8\n"), "an anchor");
    golden_ok(plain, trainlet_session_set_groups(plain, ""), "none");
    if ((later = resumed(&run, plain))) check_goes_on(&run, plain, later, 8), trainlet_session_free(later);
  }
  if (s) trainlet_session_free(s);
  if (plain) trainlet_session_free(plain);
  golden_run_close(&run);
}

static void the_average_is_kept(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL, *later = NULL;
  if (golden_run_open(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    size_t count = trainlet_session_element_count(s, TRAINLET_ALL);
    double *average = calloc(count, sizeof *average), worst = 0;
    check(trainlet_session_swap_ema(s) == STATUS_INVALID_ARGUMENT, "there is an average before any");
    check(trainlet_session_set_ema(s, 1, false) == STATUS_INVALID_ARGUMENT, "a decay of 1 is taken");
    golden_ok(s, trainlet_session_set_ema(s, 0.75, true), "an average");
    for (int step = 0; step < 4; step++) {
      golden_step(&run, s, step);
      float *now = copy_all(s);
      for (size_t i = 0; i < count; i++) average[i] = step ? 0.75 * average[i] + 0.25 * now[i] : now[i];
      free(now);
    }
    float *own = copy_all(s), *swapped, *back;
    golden_ok(s, trainlet_session_swap_ema(s), "the average");
    swapped = copy_all(s);
    for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs(swapped[i] - average[i]));
    check(worst < 1e-6 && !same(s, own, swapped), "the average differs by %g", worst);
    golden_ok(s, trainlet_session_swap_ema(s), "back");
    back = copy_all(s);
    check(same(s, own, back), "two exchanges leave other parameters");
    if ((later = resumed(&run, s))) {
      golden_ok(later, trainlet_session_set_ema(later, 0.75, false), "going on");
      check_goes_on(&run, s, later, 4);
      golden_ok(s, trainlet_session_swap_ema(s), "the average");
      golden_ok(later, trainlet_session_swap_ema(later), "the average that went on");
      check_goes_on(&run, s, later, 7);
      trainlet_session_free(later);
    }
    free(average), free(own), free(swapped), free(back);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

/* SGD's first step:  p − η·clamp(g) */
static void gradients_are_clamped(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  const float most = 1e-3f;
  if (!golden_run_open(&run, "mlp_momentum")) return;
  trainlet_artifacts_set(run.artifacts, "optimizer.clipGradValue", "1e-3");
  if (trainlet_artifacts_build(run.artifacts) == STATUS_OK && (s = golden_session(&run, NULL, 0)) &&
      golden_feed(&run, s, TRAINLET_TRAIN, 0, 0) &&
      golden_ok(s, trainlet_session_run(s, TRAINLET_TRAIN, NULL), "run")) {
    TrainletTensor p = trainlet_session_parameter(s, 0);
    const float *g = trainlet_session_gradient(s, 0);
    float *wanted = malloc(p.bytes);
    int clamped = 0;
    for (size_t i = 0; i < p.count; i++) {
      clamped += fabsf(g[i]) > most;
      wanted[i] = ((float *)p.data)[i] - (float)trainlet_session_lr(s) * fminf(fmaxf(g[i], -most), most);
    }
    golden_ok(s, trainlet_session_optimize(s), "optimize");
    double worst = 0;
    for (size_t i = 0; i < p.count; i++) worst = fmax(worst, fabs(wanted[i] - ((float *)p.data)[i]));
    check(clamped && clamped < (int)p.count && worst < 1e-8, "%d are clamped, and differ by %g", clamped, worst);
    free(wanted);
  }
  check(s != NULL, "there is no session");
  if (s) trainlet_session_free(s);
  golden_run_close(&run);
}

int main(void) {
  TEST(groups_have_their_own_rate);
  TEST(bad_groups_change_nothing);
  TEST(the_base_draws);
  TEST(the_average_is_kept);
  TEST(gradients_are_clamped);
  return test_finish();
}
