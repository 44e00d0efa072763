/* Functions of a model's own under the sanitizers: called, they compute and train as the same written out; damaged ones
 * are refused with a sentence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "golden_run.h"
#include "hostile.h"

enum { BATCH = 9, INPUTS = 6, CLASSES = 5, STEPS = 6 };

static TrainletSession *session_of(const void *model, size_t bytes) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  TrainletSession *s = trainlet_session_new();
  bool ok = trainlet_artifacts_load(a, model, bytes) == STATUS_OK &&
            trainlet_artifacts_set(a, "optimizer.type", "sgd") == STATUS_OK &&
            trainlet_artifacts_set(a, "optimizer.lr", "0.1") == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK;
  check(ok, "%s", trainlet_artifacts_error(a)->text);
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT && ok; part++) {
    size_t count;
    const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &count);
    ok = golden_ok(s, trainlet_session_load(s, (TrainletPart)part, data, count), "load");
  }
  if (ok)
    ok = golden_ok(s, trainlet_session_load(s, TRAINLET_MODEL, model, bytes), "load") &&
         golden_ok(s, trainlet_session_ready(s), "ready");
  trainlet_artifacts_free(a);
  if (ok) return s;
  trainlet_session_free(s);
  return NULL;
}

static bool feed(TrainletSession *s, TrainletPart part) {
  float *x = trainlet_session_feed(s, part, "x", 1, 2, (int64_t[]){BATCH, INPUTS});
  if (!check(x != NULL, "%s", trainlet_session_error(s)->text)) return false;
  for (size_t i = 0; i < BATCH * INPUTS; i++) x[i] = (float)(batch_unit(3, i) * 4 - 2);
  if (part == TRAINLET_MODEL) return true;
  int64_t *labels = trainlet_session_feed(s, part, "labels", 7, 1, (int64_t[]){BATCH});
  for (size_t i = 0; labels && i < BATCH; i++) labels[i] = batch_bits(4, i) % CLASSES;
  return labels != NULL;
}

/* Losses of the steps, then the scores as they were before them. */
static size_t numbers_of(const char *path, double *numbers, size_t most) {
  Arena arena = {0};
  size_t bytes, count = 0;
  const void *model = file_read(&arena, path, &bytes);
  TrainletSession *s = check(model != NULL, "%s cannot be read", path) ? session_of(model, bytes) : NULL;
  for (int i = 0; s && i < STEPS && feed(s, TRAINLET_TRAIN); i++) {
    golden_ok(s, trainlet_session_step(s), "step");
    numbers[count++] = trainlet_session_loss(s);
  }
  if (s && feed(s, TRAINLET_MODEL) && golden_ok(s, trainlet_session_run(s, TRAINLET_MODEL, NULL), "run")) {
    const TrainletTensor *scores = trainlet_session_output(s, 0);
    for (size_t i = 0; i < scores->count && count < most; i++)
      numbers[count++] = (double)((const float *)scores->data)[i];
  }
  trainlet_session_free(s);
  arena_free(&arena);
  return count;
}

static void called_is_written_out(const void *argument) {
  double called[128], written[128];
  (void)argument;
  size_t count = numbers_of("tests/golden/data/functions/called.onnx", called, 128),
         other = numbers_of("tests/golden/data/functions/written_out.onnx", written, 128);
  check(count == other && count == STEPS + BATCH * CLASSES, "%zu numbers, %zu written out", count, other);
  for (size_t i = 0; i < count && i < other; i++)
    check(called[i] == written[i], "number %zu is %.9g, written out %.9g", i, called[i], written[i]);
  check(called[STEPS - 1] < called[0], "the loss does not fall");
}

static bool refuses(const uint8_t *bytes, size_t count) {
  TrainletSession *s = trainlet_session_new();
  bool good = trainlet_session_load(s, TRAINLET_MODEL, bytes, count) == STATUS_OK &&
              trainlet_session_ready(s) == STATUS_OK;
  const Error *error = trainlet_session_error(s);
  check(good == (error->status == STATUS_OK) && (good || (error->text[0] && error->status != STATUS_INTERNAL)),
        "refused with '%s' (%s)", error->text, status_code(error->status));
  trainlet_session_free(s);
  return !good;
}

static void hostile_ones_are_refused(const void *path) {
  Arena arena = {0};
  size_t bytes;
  const void *model = file_read(&arena, path, &bytes);
  if (check(model != NULL, "%s cannot be read", (const char *)path)) hostile_try(model, bytes, refuses);
  arena_free(&arena);
}

int main(void) {
  TEST(called_is_written_out);
  test_run("hostile_ones_are_refused (called)", hostile_ones_are_refused, "tests/golden/data/functions/called.onnx");
  test_run("hostile_ones_are_refused (PyTorch's)", hostile_ones_are_refused, "tests/golden/data/functions.onnx");
  return test_finish();
}
