/* Fuzzes the whole way: a hostile model becomes artifacts, the artifacts a session, and the session takes steps of
 * several batches and exports. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LIMIT_BYTES = 32 << 20 };
#define ARTIFACTS_LIMIT "16777216" /* so that what is made is not too much to load */

/* Labels of ones lie inside two classes. A step without examples has no loss, and with wild numbers no finite one,
 * which changes nothing. */
static const FuzzFeed steps[] = {
    {2, 2, FEED_ONES, 0}, {3, 1, FEED_TAME, 0}, {0, 0, FEED_TAME, 0}, {1, 1, FEED_WILD, 0}};
enum { STEPS = sizeof steps / sizeof *steps };

static void run(TrainletSession *s, uint32_t seed) {
  for (int step = 0; step < STEPS; step++) {
    FuzzFeed how = steps[step];
    how.seed = seed;
    if (fuzz_feed(s, TRAINLET_TRAIN, &how)) trainlet_session_step(s);
    hold_sentence(trainlet_session_error(s));
    fuzz_outside(s, &how);
    if (fuzz_feed(s, TRAINLET_EVAL, &how)) trainlet_session_run(s, TRAINLET_EVAL, NULL);
    hold_sentence(trainlet_session_error(s));
  }
  for (TrainletFormat format = TRAINLET_FORMAT_TRAINLET; format <= TRAINLET_FORMAT_ORT_2; format++)
    fuzz_save(s, format);
  trainlet_session_export(s, NULL, false);
  trainlet_session_export(s, NULL, true);
  hold(trainlet_session_json(s) != NULL);
}

static void train(const uint8_t *bytes, size_t count, const char *loss) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  hold(a != NULL);
  hold(trainlet_artifacts_set(a, "maxMemoryBytes", ARTIFACTS_LIMIT) == STATUS_OK);
  hold(trainlet_artifacts_load(a, bytes, count) != STATUS_OK ||
       trainlet_artifacts_set(a, "loss.type", loss) == STATUS_OK);
  if (trainlet_artifacts_error(a)->status == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK) {
    TrainletSession *s = trainlet_session_new();
    trainlet_session_limit(s, LIMIT_BYTES);
    bool loaded = true;
    for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
      size_t length;
      const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &length);
      hold(trainlet_session_load(s, (TrainletPart)part, data, length) == STATUS_OK); /* we read what we wrote */
    }
    loaded = trainlet_session_ready(s) == STATUS_OK;
    if (loaded) run(s, (uint32_t)count);
    trainlet_session_free(s);
  } else hold(trainlet_artifacts_error(a)->text[0] != 0);
  trainlet_artifacts_free(a);
}

static void infer(const uint8_t *bytes, size_t count) {
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, LIMIT_BYTES);
  if (trainlet_session_load(s, TRAINLET_MODEL, bytes, count) == STATUS_OK && trainlet_session_ready(s) == STATUS_OK &&
      fuzz_feed(s, TRAINLET_MODEL, &steps[1]))
    trainlet_session_run(s, TRAINLET_MODEL, NULL);
  hold_sentence(trainlet_session_error(s));
  trainlet_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  train(bytes, count, "cross-entropy");
  train(bytes, count, "mse");
  train(bytes, count, "outside");
  infer(bytes, count);
  return 0;
}
