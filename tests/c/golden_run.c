/* Recipes of tests/golden as option keys, feeds and steps. */
#include "golden_run.h"

#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "check.h"

static bool set(GoldenRun *run, const char *key, const char *value) {
  Status status = trainlet_artifacts_set(run->artifacts, key, value);
  return check(status == STATUS_OK, "%s = %s: %s", key, value, trainlet_artifacts_error(run->artifacts)->text);
}

/* A number, a bool, or a list of two numbers. */
static bool set_setting(GoldenRun *run, const Json *one) {
  char key[40], text[80];
  const Json *first = one->kind == JSON_LIST ? one->child : one;
  snprintf(key, sizeof key, "optimizer.%s", one->key);
  snprintf(text, sizeof text, "%.9g", first->number);
  if (first != one) snprintf(text, sizeof text, "%.9g,%.9g", first->number, first->next->number);
  return set(run, key, text);
}

static bool set_optimizer(GoldenRun *run, const Json *optimizer) {
  bool ok = set(run, "optimizer.type", json_text(optimizer, "type"));
  for (const Json *one = optimizer->child; ok && one; one = one->next)
    if (one->kind != JSON_TEXT) ok = set_setting(run, one);
  return ok;
}

static bool set_list(GoldenRun *run, const char *key) {
  const Json *list = json_get(run->recipe, key);
  for (const Json *glob = list ? list->child : NULL; glob; glob = glob->next)
    if (!set(run, key, glob->text)) return false;
  return true;
}

bool golden_run_open(GoldenRun *run, const char *name) { return golden_run_open_with(run, name, NULL); }

bool golden_run_open_with(GoldenRun *run, const char *name, const char *passes) {
  char path[200];
  size_t bytes;
  *run = (GoldenRun){0};
  snprintf(path, sizeof path, "tests/golden/data/%s.json", name);
  char *text = file_read(&run->arena, path, &bytes);
  if (!check(text && (run->recipe = json_parse(&run->arena, text)), "%s cannot be read", path)) return false;
  snprintf(path, sizeof path, "tests/golden/data/%s", json_text(run->recipe, "model"));
  const char *model = file_read(&run->arena, path, &bytes);
  if (!check(model != NULL, "%s cannot be read", path)) return false;
  run->artifacts = trainlet_artifacts_new();
  if (!check(run->artifacts != NULL, "no memory for artifacts")) return false;
  if (!check(trainlet_artifacts_load(run->artifacts, model, bytes) == STATUS_OK, "%s",
             trainlet_artifacts_error(run->artifacts)->text))
    return false;
  if (!set(run, "loss.type", json_text(run->recipe, "loss")) || !set_optimizer(run, json_get(run->recipe, "optimizer")))
    return false;
  if (!set_list(run, "requiresGrad") || !set_list(run, "frozen")) return false;
  const Json *batch_norm = json_get(run->recipe, "batchNorm");
  if (batch_norm && !set(run, "batchNorm", json_text(run->recipe, "batchNorm"))) return false;
  if (passes && !set(run, "passes", passes)) return false;
  Status status = trainlet_artifacts_build(run->artifacts);
  return check(status == STATUS_OK, "artifacts: %s", trainlet_artifacts_error(run->artifacts)->text);
}

void golden_run_close(GoldenRun *run) {
  if (run->artifacts) trainlet_artifacts_free(run->artifacts);
  arena_free(&run->arena);
}

bool golden_ok(TrainletSession *s, Status status, const char *what) {
  return check(status == STATUS_OK, "%s: %s", what, trainlet_session_error(s)->text);
}

TrainletSession *golden_session(const GoldenRun *run, const void *checkpoint, size_t bytes) {
  TrainletSession *s = trainlet_session_new();
  if (!check(s != NULL, "no memory for a session")) return NULL;
  bool ok = true;
  for (int part = TRAINLET_TRAIN; ok && part <= TRAINLET_CHECKPOINT; part++) {
    size_t count;
    const void *data = trainlet_artifacts_bytes(run->artifacts, (TrainletPart)part, &count);
    bool replaced = part == TRAINLET_CHECKPOINT && checkpoint;
    ok = golden_ok(s,
                   trainlet_session_load(s, (TrainletPart)part, replaced ? checkpoint : data, replaced ? bytes : count),
                   "load");
  }
  if (ok && golden_ok(s, trainlet_session_ready(s), "ready")) return s;
  trainlet_session_free(s);
  return NULL;
}

/* Element i of the fed tensor lies in coarse element coarse_index where `block` × `block` pixels are one. */
static size_t coarse_index(size_t i, size_t height, size_t width, size_t block) {
  size_t column = i % width, row = i / width % height, image = i / width / height;
  return (image * (height / block) + row / block) * (width / block) + column / block;
}

static void fill_tensor(const Json *spec, uint32_t seed, const int64_t *dims, int rank, void *data) {
  size_t count = 1, block = (size_t)json_number(spec, "block", 1);
  for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
  double low = json_number(spec, "low", 0), high = json_number(spec, "high", 1);
  bool is_int = strcmp(json_text(spec, "type"), "int64") == 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = block > 1 ? coarse_index(i, (size_t)dims[rank - 2], (size_t)dims[rank - 1], block) : i;
    if (is_int) ((int64_t *)data)[i] = (int64_t)low + batch_bits(seed, at) % (uint32_t)(high - low);
    else ((float *)data)[i] = (float)(low + (high - low) * batch_unit(seed, at));
  }
}

static bool feed_one(const GoldenRun *run, TrainletSession *s, TrainletPart part, const char *key, int step,
                     int batch) {
  const Json *spec = json_get(run->recipe, key);
  int64_t dims[8] = {batch};
  int rank = 1;
  for (const Json *d = json_get(spec, "dims")->child; d; d = d->next) dims[rank++] = (int64_t)d->number;
  int type = strcmp(json_text(spec, "type"), "int64") == 0 ? 7 : 1;
  void *data = trainlet_session_feed(s, part, json_text(spec, "name"), type, rank, dims);
  if (!golden_ok(s, data ? STATUS_OK : STATUS_INVALID_FEED, json_text(spec, "name"))) return false;
  fill_tensor(spec, (uint32_t)json_number(spec, "seed", 0) + 100 * (uint32_t)step, dims, rank, data);
  return true;
}

bool golden_feed(const GoldenRun *run, TrainletSession *s, TrainletPart part, int step, int batch) {
  if (json_number(run->recipe, "fixed", 0) != 0) step = 0;
  if (!batch) batch = (int)json_number(run->recipe, "batch", 0);
  return feed_one(run, s, part, "input", step, batch) && feed_one(run, s, part, "label", step, batch);
}

bool golden_feed_input(const GoldenRun *run, TrainletSession *s, TrainletPart part) {
  return feed_one(run, s, part, "input", 0, (int)json_number(run->recipe, "batch", 0));
}

double golden_step(const GoldenRun *run, TrainletSession *s, int step) {
  int accumulate = (int)json_number(run->recipe, "accumulate", 1);
  if (!golden_feed(run, s, TRAINLET_TRAIN, step, 0)) return 0;
  if (accumulate == 1) return golden_ok(s, trainlet_session_step(s), "step"), trainlet_session_loss(s);
  golden_ok(s, trainlet_session_run(s, TRAINLET_TRAIN, NULL), "train step");
  double loss = trainlet_session_loss(s);
  if ((step + 1) % accumulate == 0) {
    golden_ok(s, trainlet_session_optimize(s), "optimizer step");
    trainlet_session_reset_grad(s);
  }
  return loss;
}

void golden_check_losses(const char *name, const double *losses) {
  Arena arena = {0};
  size_t bytes;
  char *text = file_read(&arena, "tests/golden/data/engine-losses.json", &bytes);
  const Json *all = text ? json_parse(&arena, text) : NULL, *want = json_get(all, name);
  if (check(json_length(want) == GOLDEN_STEPS, "tests/golden/data/engine-losses.json has no ten losses of %s", name)) {
    int step = 0;
    for (const Json *loss = want->child; loss; loss = loss->next, step++)
      check((float)losses[step] == (float)loss->number, "loss %d is %.9g, the literal %.9g", step, losses[step],
            loss->number);
  }
  arena_free(&arena);
}
