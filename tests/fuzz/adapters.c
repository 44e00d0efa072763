/* Fuzzes adapters: hostile checkpoints, whole ones and those of adapters alone, loaded into a session of artifacts with
 * LoRA (run in the repository's root), whose adapters are then used, lent, trained, deleted and saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LIMIT_BYTES = 32 << 20 };

static const FuzzFeed how = {.batch = 2, .values = FEED_TAME};
static const char *const names[] = {"default", "work", "more", NULL};

static TrainletArtifacts *adapted_artifacts(void) {
  static uint8_t model[1 << 16];
  FILE *file = fopen("tests/golden/data/mlp_small.onnx", "rb");
  hold(file != NULL);
  size_t count = fread(model, 1, sizeof model, file);
  fclose(file);
  TrainletArtifacts *a = trainlet_artifacts_new();
  hold(trainlet_artifacts_load(a, model, count) == STATUS_OK);
  hold(trainlet_artifacts_set(a, "lora.r", "2") == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK);
  return a;
}

static void step(TrainletSession *s) {
  if (fuzz_feed(s, TRAINLET_TRAIN, &how)) trainlet_session_step(s);
  hold_sentence(trainlet_session_error(s));
}

static void adapter(TrainletSession *s, TrainletAdapter what, const char *name) {
  trainlet_session_adapter(s, what, name);
  hold_sentence(trainlet_session_error(s));
}

static void go_on(TrainletSession *s) {
  size_t count = sizeof names / sizeof *names;
  hold(trainlet_session_json(s) != NULL);
  step(s);
  adapter(s, TRAINLET_ADAPTER_ADD, "more");
  for (size_t i = 0; i < count; i++) {
    adapter(s, TRAINLET_ADAPTER_LEND, names[i]);
    if (fuzz_feed(s, TRAINLET_EVAL, &how)) trainlet_session_run(s, TRAINLET_EVAL, NULL);
    adapter(s, TRAINLET_ADAPTER_RETURN, NULL);
    adapter(s, TRAINLET_ADAPTER_USE, names[i]);
    step(s);
    fuzz_save(s, TRAINLET_FORMAT_TRAINLET);
  }
  for (size_t i = 0; i + 1 < count; i++) adapter(s, TRAINLET_ADAPTER_DELETE, names[i]);
  fuzz_save(s, TRAINLET_FORMAT_TRAINLET);
  if (trainlet_session_save(s, true, TRAINLET_FORMAT_ADAPTERS) == STATUS_OK) {
    size_t bytes;
    const void *saved = trainlet_session_result(s, &bytes);
    hold_loads(TRAINLET_ADAPTERS, saved, bytes);
  }
  hold_sentence(trainlet_session_error(s));
}

/* Opens the artifacts with that checkpoint, or with that one of adapters over theirs. */
static void load(const TrainletArtifacts *a, TrainletPart as, const uint8_t *bytes, size_t count) {
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, LIMIT_BYTES);
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    size_t length;
    const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &length);
    if ((TrainletPart)part != as) hold(trainlet_session_load(s, (TrainletPart)part, data, length) == STATUS_OK);
  }
  if (trainlet_session_load(s, as, bytes, count) == STATUS_OK && trainlet_session_ready(s) == STATUS_OK) go_on(s);
  hold_sentence(trainlet_session_error(s));
  trainlet_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static TrainletArtifacts *artifacts;
  if (!artifacts) artifacts = adapted_artifacts();
  uint8_t *whole = malloc(count + FUZZ_ENVELOPE);
  size_t length = fuzz_envelope(bytes, count, whole);
  load(artifacts, TRAINLET_CHECKPOINT, whole, length);
  load(artifacts, TRAINLET_ADAPTERS, whole, length);
  free(whole);
  return 0;
}
