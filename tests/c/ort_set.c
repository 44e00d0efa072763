/* The sets of tests/golden/data/ort through the public C API. */
#include "ort_set.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

const void *ort_set_file(OrtSet *set, const char *file, size_t *bytes) {
  char path[200];
  snprintf(path, sizeof path, "tests/golden/data/ort/%s/%s", set->name, file);
  void *data = file_read(&set->arena, path, bytes);
  check(data != NULL, "%s cannot be read: run from the repository", path);
  return data;
}

bool ort_set_open(OrtSet *set, const char *name) {
  size_t bytes;
  *set = (OrtSet){.name = name};
  const char *text = ort_set_file(set, "golden.json", &bytes);
  return text && check((set->golden = json_parse(&set->arena, text)) != NULL, "the golden of %s is no JSON", name);
}

void ort_set_close(OrtSet *set) { arena_free(&set->arena); }

TrainletSession *ort_set_session(OrtSet *set, const void *checkpoint, size_t bytes) {
  static const char *const parts[] = {"training_model", "eval_model", "optimizer_model"};
  TrainletSession *s = trainlet_session_new();
  bool good = checkpoint || (checkpoint = ort_set_file(set, "checkpoint", &bytes));
  good = good && golden_ok(s, trainlet_session_load(s, TRAINLET_CHECKPOINT, checkpoint, bytes), "checkpoint");
  for (int part = TRAINLET_TRAIN; good && part <= TRAINLET_OPTIMIZER; part++) {
    char file[80];
    size_t count;
    snprintf(file, sizeof file, "%s.%s", parts[part], json_text(set->golden, "extension"));
    const void *data = ort_set_file(set, file, &count);
    good = data && golden_ok(s, trainlet_session_load(s, (TrainletPart)part, data, count), file);
  }
  if (good && golden_ok(s, trainlet_session_ready(s), "ready")) return s;
  trainlet_session_free(s);
  return NULL;
}

static bool feed_all(OrtSet *set, TrainletSession *s, TrainletPart part) {
  for (const Json *feed = json_get(set->golden, "feeds")->child; feed; feed = feed->next) {
    const char *type = json_text(feed, "type");
    int64_t dims[8];
    int rank = 0;
    for (const Json *d = json_get(feed, "dims")->child; d; d = d->next) dims[rank++] = (int64_t)d->number;
    size_t bytes;
    const void *data = ort_set_file(set, json_text(feed, "file"), &bytes);
    int number = strcmp(type, "float32") == 0 ? 1 : strcmp(type, "int32") == 0 ? 6 : 7;
    void *to = trainlet_session_feed(s, part, json_text(feed, "name"), number, rank, dims);
    if (!data || !golden_ok(s, to ? STATUS_OK : STATUS_INVALID_FEED, json_text(feed, "name"))) return false;
    memcpy(to, data, bytes);
  }
  return true;
}

double ort_set_run(OrtSet *set, TrainletSession *s, TrainletPart part) {
  if (!feed_all(set, s, part) || !golden_ok(s, trainlet_session_run(s, part, NULL), "run")) return NAN;
  return (double)*(const float *)trainlet_session_output(s, 0)->data;
}

double ort_set_step(OrtSet *set, TrainletSession *s) {
  double loss = ort_set_run(set, s, TRAINLET_TRAIN);
  golden_ok(s, trainlet_session_optimize(s), "optimizer step");
  trainlet_session_reset_grad(s);
  return loss;
}
