/* ONNX's training_info under the sanitizers: models train by their formulas, what is exported goes on, and damaged ones
 * are refused with a sentence. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "golden_run.h"
#include "hostile.h"

enum { BATCH = 8, INPUTS = 6, CLASSES = 4 };

/* ---- sessions ---- */

static TrainletSession *session_of(const TrainletArtifacts *a) {
  TrainletSession *s = trainlet_session_new();
  bool ok = true;
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT && ok; part++) {
    size_t bytes;
    const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &bytes);
    ok = golden_ok(s, trainlet_session_load(s, (TrainletPart)part, data, bytes), "load");
  }
  if (ok && golden_ok(s, trainlet_session_ready(s), "ready")) return s;
  trainlet_session_free(s);
  return NULL;
}

/* Uses the training_info alone, except for `options` (key, value, …, NULL). */
static TrainletSession *open_with(const void *model, size_t bytes, const char *const *options) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  bool ok = trainlet_artifacts_load(a, model, bytes) == STATUS_OK &&
            trainlet_artifacts_set(a, "loss.type", "training-info") == STATUS_OK;
  for (; ok && options && *options; options += 2) ok = trainlet_artifacts_set(a, options[0], options[1]) == STATUS_OK;
  ok = ok && trainlet_artifacts_build(a) == STATUS_OK;
  TrainletSession *s = check(ok, "%s", trainlet_artifacts_error(a)->text) ? session_of(a) : NULL;
  trainlet_artifacts_free(a);
  return s;
}

/* A copy of the exported model, which goes with the session. */
static void *export_of(TrainletSession *s, Arena *arena, size_t *bytes) {
  if (!golden_ok(s, trainlet_session_export(s, NULL, true), "export")) return NULL;
  const void *model = trainlet_session_result(s, bytes);
  return memcpy(arena_alloc(arena, *bytes), model, *bytes);
}

/* The batch of make_training_info.py. */
static double step_of(TrainletSession *s, int step) {
  float *x = trainlet_session_feed(s, TRAINLET_TRAIN, "x", 1, 2, (int64_t[]){BATCH, INPUTS});
  int64_t *labels = x ? trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, (int64_t[]){BATCH}) : NULL;
  if (!check(labels != NULL, "%s", trainlet_session_error(s)->text)) return NAN;
  for (size_t i = 0; i < BATCH * INPUTS; i++) x[i] = (float)(batch_unit(100 + (uint32_t)step, i) * 2 - 1);
  for (size_t i = 0; i < BATCH; i++) labels[i] = batch_bits(200 + (uint32_t)step, i) % CLASSES;
  golden_ok(s, trainlet_session_step(s), "step");
  return trainlet_session_loss(s);
}

static const void *model_named(Arena *arena, const char *name, size_t *bytes) {
  char path[200];
  snprintf(path, sizeof path, "tests/golden/data/training_info/%s.onnx", name);
  const void *model = file_read(arena, path, bytes);
  return check(model != NULL, "%s cannot be read", path) ? model : NULL;
}

/* ---- tests ---- */

static bool near_to(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fabs(b); }

/* Ten steps; after five, the exported model takes the other five as well. */
static void trains_and_goes_on(const void *argument) {
  const Json *want = argument;
  Arena arena = {0};
  size_t bytes;
  const void *model = model_named(&arena, want->key, &bytes);
  TrainletSession *s = model ? open_with(model, bytes, NULL) : NULL, *again = NULL;
  int step = 0;
  for (const Json *loss = want->child; s && loss; loss = loss->next, step++) {
    if (step == GOLDEN_STEPS / 2) {
      model = export_of(s, &arena, &bytes);
      again = model ? open_with(model, bytes, NULL) : NULL;
      check(again != NULL, "what was exported does not train");
    }
    double got = step_of(s, step);
    check(near_to(got, loss->number, 1e-5), "loss %d is %.9g, wanted %.9g", step, got, loss->number);
    if (!again) continue;
    double later = step_of(again, step);
    check(near_to(later, got, 1e-6), "loss %d is %.9g from the export, %.9g without it", step, later, got);
  }
  trainlet_session_free(s);
  trainlet_session_free(again);
  arena_free(&arena);
}

/* Each optimizer of ours, written as an algorithm of ONNX and read again. */
static void an_optimizer_goes_on(const void *argument) {
  const char *const *options = argument;
  GoldenRun run = {0};
  Arena arena = {0};
  size_t bytes;
  const void *model = file_read(&arena, "tests/golden/data/mlp_small.onnx", &bytes);
  TrainletSession *first = NULL, *second = NULL;
  if (!golden_run_open(&run, "mlp_momentum")) return;
  TrainletArtifacts *a = trainlet_artifacts_new();
  bool ok = trainlet_artifacts_load(a, model, bytes) == STATUS_OK &&
            trainlet_artifacts_set(a, "frozen", "fc2.bias") == STATUS_OK;
  for (; ok && *options; options += 2) ok = trainlet_artifacts_set(a, options[0], options[1]) == STATUS_OK;
  if (check(ok && trainlet_artifacts_build(a) == STATUS_OK, "%s", trainlet_artifacts_error(a)->text))
    first = session_of(a);
  trainlet_artifacts_free(a);
  for (int step = 0; first && step < GOLDEN_STEPS; step++) {
    if (step == 5) {
      model = export_of(first, &arena, &bytes);
      second = model ? open_with(model, bytes, NULL) : NULL;
      if (!second) break;
    }
    double one = golden_step(&run, first, step), other = second ? golden_step(&run, second, step) : one;
    check(near_to(other, one, 1e-6), "loss %d is %.9g from the export, %.9g without it", step, other, one);
  }
  trainlet_session_free(first);
  trainlet_session_free(second);
  golden_run_close(&run);
  arena_free(&arena);
}

static size_t base64(const char *text, uint8_t *out) {
  size_t n = 0;
  uint32_t bits = 0, have = 0;
  for (; *text && *text != '='; text++) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | (uint32_t)(strchr(letters, *text) - letters), have += 6;
    if (have >= 8) have -= 8, out[n++] = (uint8_t)(bits >> have);
  }
  return n;
}

/* Gives whether it was refused; if not, what it was made into takes a step and is exported. */
static bool refuses(const uint8_t *bytes, size_t count) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  bool good = trainlet_artifacts_load(a, bytes, count) == STATUS_OK &&
              trainlet_artifacts_set(a, "loss.type", "training-info") == STATUS_OK &&
              trainlet_artifacts_build(a) == STATUS_OK;
  const Error *error = trainlet_artifacts_error(a);
  check(good == (error->status == STATUS_OK) && (good || (error->text[0] && error->status != STATUS_INTERNAL)),
        "refused with '%s' (%s)", error->text, status_code(error->status));
  trainlet_artifacts_free(a);
  return !good;
}

static void is_refused(const void *argument) {
  const char *model = json_text(argument, "model");
  uint8_t *bytes = malloc(strlen(model) + 1);
  check(refuses(bytes, base64(model, bytes)), "it is taken");
  free(bytes);
}

static void hostile_ones_are_refused(const void *name) {
  Arena arena = {0};
  size_t bytes;
  const void *model = model_named(&arena, name, &bytes);
  if (model) hostile_try(model, bytes, refuses);
  arena_free(&arena);
}

static void what_onnx_cannot_say_is_one_sentence(const void *argument) {
  const char *const *name_and_words = argument;
  GoldenRun run = {0};
  TrainletSession *s = golden_run_open(&run, name_and_words[0]) ? golden_session(&run, NULL, 0) : NULL;
  if (s) {
    Status status = trainlet_session_export(s, NULL, true);
    const char *sentence = trainlet_session_error(s)->text;
    check(status == STATUS_INVALID_ARGUMENT && strstr(sentence, name_and_words[1]), "'%s'", sentence);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

int main(void) {
  static const char *const optimizers[][12] = {
      {"optimizer.type", "sgd", "optimizer.lr", "0.1", "optimizer.weightDecay", "0.01"},
      {"optimizer.type", "sgd", "optimizer.lr", "0.05", "optimizer.momentum", "0.9", "optimizer.dampening", "0.3"},
      {"optimizer.type", "sgd", "optimizer.lr", "0.05", "optimizer.momentum", "0.9", "optimizer.nesterov", "1"},
      {"optimizer.type", "adam", "optimizer.lr", "0.01", "optimizer.weightDecay", "0.02"},
      {"optimizer.type", "adamw", "optimizer.lr", "0.01", "optimizer.betas", "0.8,0.99", "optimizer.eps", "0.001"},
      {"optimizer.type", "adagrad", "optimizer.lr", "0.05", "optimizer.lrDecay", "0.1", "optimizer.weightDecay",
       "0.01"},
  };
  Arena arena = {0};
  size_t bytes;
  const char *text = file_read(&arena, "tests/golden/data/training_info/losses.json", &bytes),
             *refused_text = file_read(&arena, "tests/golden/data/training_info/refused.json", &bytes);
  const Json *losses = text ? json_parse(&arena, text) : NULL,
             *refused = refused_text ? json_parse(&arena, refused_text) : NULL;
  for (const Json *want = losses ? losses->child : NULL; want; want = want->next)
    test_run(want->key, trains_and_goes_on, want);
  for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
    char title[80];
    snprintf(title, sizeof title, "an_optimizer_goes_on (%s, %zu)", optimizers[i][1], i);
    test_run(title, an_optimizer_goes_on, optimizers[i]);
  }
  for (const Json *one = refused ? refused->child : NULL; one; one = one->next)
    test_run(json_text(one, "name"), is_refused, one);
  test_run("hostile_ones_are_refused (adam)", hostile_ones_are_refused, "adam");
  test_run("hostile_ones_are_refused (random)", hostile_ones_are_refused, "random");
  static const char *const clipping[] = {"mlp_clip", "clipped"};
  static const char *const rmsprop[] = {"mlp_rmsprop", "the optimizer rmsprop"};
  test_run("what_onnx_cannot_say_is_one_sentence (clipping)", what_onnx_cannot_say_is_one_sentence, clipping);
  test_run("what_onnx_cannot_say_is_one_sentence (RMSprop)", what_onnx_cannot_say_is_one_sentence, rmsprop);
  arena_free(&arena);
  return test_finish();
}
