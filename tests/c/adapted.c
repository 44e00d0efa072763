/* Sessions with adapters, as tests make them. */
#include "adapted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

bool adapted_open(GoldenRun *run, const char *name, const char *const *options) {
  if (!golden_run_open(run, name)) return false;
  for (; *options; options += 2) trainlet_artifacts_set(run->artifacts, options[0], options[1]);
  bool built = trainlet_artifacts_build(run->artifacts) == STATUS_OK;
  return check(built, "%s", trainlet_artifacts_error(run->artifacts)->text);
}

bool adapted_open_with_bias(GoldenRun *run, const char *name, const char *bias) {
  return adapted_open(run, name, (const char *[]){bias ? "lora.r" : NULL, "2", "lora.bias", bias, NULL});
}

bool adapted_do(TrainletSession *s, TrainletAdapter what, const char *name) {
  return golden_ok(s, trainlet_session_adapter(s, what, name), name ? name : "the base");
}

bool adapted_refuses(TrainletSession *s, Status status, const char *sentence) {
  return check(status != STATUS_OK && strstr(trainlet_session_error(s)->text, sentence), "not '%s' but '%s'", sentence,
               trainlet_session_error(s)->text);
}

TrainletSession *adapted_learned(const GoldenRun *run) {
  TrainletSession *s = golden_session(run, NULL, 0);
  if (!s || !adapted_do(s, TRAINLET_ADAPTER_ADD, "work")) return s;
  for (int step = 0; step < 5; step++) {
    if (step == 3) adapted_do(s, TRAINLET_ADAPTER_USE, "work");
    golden_step(run, s, step);
  }
  return s;
}

float *adapted_values(TrainletSession *s) {
  float *all = calloc(trainlet_session_element_count(s, TRAINLET_ALL) + 1, sizeof *all);
  trainlet_session_copy_out(s, TRAINLET_ALL, all);
  return all;
}

void adapted_check_values(TrainletSession *s, const float *wanted, bool same, const char *what) {
  float *all = adapted_values(s);
  bool is = memcmp(all, wanted, trainlet_session_element_count(s, TRAINLET_ALL) * sizeof *all) == 0;
  check(is == same, "the values of %s are %s", what, is ? "the same" : "others");
  free(all);
}

double adapted_eval_loss(const GoldenRun *run, TrainletSession *s, int batch) {
  bool ok = golden_feed(run, s, TRAINLET_EVAL, 0, batch) &&
            golden_ok(s, trainlet_session_run(s, TRAINLET_EVAL, NULL), "evaluating");
  return ok ? (double)*(const float *)trainlet_session_output(s, 0)->data : NAN;
}

bool adapted_read_saved(TrainletSession *s, bool moments, Arena *arena, Checkpoint *out) {
  size_t bytes;
  Error error = {0};
  if (!golden_ok(s, trainlet_session_save(s, moments, TRAINLET_FORMAT_TRAINLET), "saving")) return false;
  const void *file = trainlet_session_result(s, &bytes);
  return check(trainlet_checkpoint_read(file, bytes, arena, &error, out) == STATUS_OK, "%s", error.text);
}

TrainletSession *adapted_with_checkpoint(const GoldenRun *run, const Checkpoint *c, TrainletPart last) {
  Error error = {0};
  Block block = {0};
  size_t bytes = 0;
  check(trainlet_checkpoint_write(c, &error, &block, &bytes) == STATUS_OK, "%s", error.text);
  TrainletSession *s = trainlet_session_new();
  for (TrainletPart part = TRAINLET_TRAIN; part <= last; part++) {
    size_t count;
    const void *file = trainlet_artifacts_bytes(run->artifacts, part, &count);
    golden_ok(s, trainlet_session_load(s, part, file, count), "loading artifacts");
  }
  golden_ok(s, trainlet_session_load(s, TRAINLET_CHECKPOINT, block.data, bytes), "loading a checkpoint");
  block_free(&block);
  return s;
}
