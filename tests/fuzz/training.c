/* Fuzzes the training model: hostile bytes as the train model beside whole artifacts (run in the repository's root),
 * steps of several batches and save. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LIMIT_BYTES = 32 << 20 };

static const FuzzFeed steps[] = {
    {2, 2, FEED_ONES, 0}, {3, 1, FEED_TAME, 0}, {0, 0, FEED_TAME, 0}, {1, 1, FEED_WILD, 0}};
enum { STEPS = sizeof steps / sizeof *steps };

static TrainletArtifacts *whole_artifacts(void) {
  static uint8_t model[1 << 16];
  FILE *file = fopen("tests/golden/data/mlp_small.onnx", "rb");
  hold(file != NULL);
  size_t count = fread(model, 1, sizeof model, file);
  fclose(file);
  TrainletArtifacts *a = trainlet_artifacts_new();
  hold(trainlet_artifacts_load(a, model, count) == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK);
  return a;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static TrainletArtifacts *whole;
  if (!whole) whole = whole_artifacts();
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, LIMIT_BYTES);
  Status status = trainlet_session_load(s, TRAINLET_TRAIN, bytes, count);
  for (int part = TRAINLET_EVAL; part <= TRAINLET_CHECKPOINT; part++) {
    size_t length;
    const void *data = trainlet_artifacts_bytes(whole, (TrainletPart)part, &length);
    if (status == STATUS_OK) hold(trainlet_session_load(s, (TrainletPart)part, data, length) == STATUS_OK);
  }
  if (status == STATUS_OK && trainlet_session_ready(s) == STATUS_OK) {
    for (int step = 0; step < STEPS; step++) {
      FuzzFeed how = steps[step];
      how.seed = (uint32_t)count;
      if (fuzz_feed(s, TRAINLET_TRAIN, &how)) trainlet_session_step(s);
      hold_sentence(trainlet_session_error(s));
      fuzz_outside(s, &how);
    }
    if (fuzz_feed(s, TRAINLET_TRAIN, &steps[0])) trainlet_session_run(s, TRAINLET_TRAIN, NULL);
    fuzz_save(s, TRAINLET_FORMAT_TRAINLET);
  }
  hold_sentence(trainlet_session_error(s));
  trainlet_session_free(s);
  return 0;
}
