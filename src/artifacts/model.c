/* The model that artifacts are made of: how it is loaded, with its files and with constants for its inputs. */
#include <string.h>

#include "artifacts/artifacts.h"
#include "graph/op.h"
#include "ops/accumulator.h"
#include "train/computed.h"
#include "train/mode.h"

void *trainlet_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes) {
  artifacts_enter(a);
  void *to = external_add(&a->external, location, bytes, &a->arena);
  if (!to) ERROR_MEMORY(&a->error, "for the %zu bytes of external data '%.200s'", bytes, location);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

void *trainlet_artifacts_constant(TrainletArtifacts *a, const char *name, int type, int rank, const int64_t *dims) {
  artifacts_enter(a);
  void *to = constants_add(&a->constants, name, type, rank, dims, &a->arena, &a->error);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

void *trainlet_artifacts_file(TrainletArtifacts *a, size_t bytes) {
  artifacts_enter(a);
  void *to = external_add_file(&a->external, bytes, &a->arena);
  if (!to) ERROR_MEMORY(&a->error, "for a model of %zu bytes", bytes);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

void artifacts_forget_model(TrainletArtifacts *a) {
  a->model = NULL;
  a->given = false;
  a->has_head = a->has_lora = a->has_quantized = false;
  a->training = (OnnxTraining){0};
  a->info = (TrainingInfo){0};
  arena_free(&a->parsed);
  arena_free(&a->read);
}

static Graph *read_model(TrainletArtifacts *a, const void *model, size_t bytes, bool defers) {
  return onnx_read_training(model, bytes, &a->external, defers, a->keeps_merged, &a->parsed, &a->error, &a->training);
}

/* Binds inputs to constants. Refuses what is no tensor of numbers with the sentence that it has unbound. */
static Graph *read_bound(TrainletArtifacts *a, const void *model, size_t bytes) {
  Graph *g = read_model(a, model, bytes, true);
  if (g && a->error.status == STATUS_OK) g = constants_bind(&a->constants, g, &a->parsed, &a->error);
  if (!g || constants_check_used(&a->constants, &a->error) != STATUS_OK) return NULL;
  g = constants_complete(g, &a->parsed, &a->error);
  return g || a->error.status != STATUS_OK ? g : read_model(a, model, bytes, false);
}

static Status check_is_plain(const Graph *g) {
  for (int i = 0; i < g->node_count; i++)
    if (op_is_accumulator(g->nodes[i]))
      return node_fail(g->nodes[i], STATUS_INVALID_MODEL,
                       "this is a training model already; artifacts are made of a model for inference");
  return STATUS_OK;
}

Status artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes) {
  ExternalFile *file = external_at(&a->external, model);
  if (file && file->spent)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "loading this file in place has failed before: it must be written again");
  artifacts_forget_model(a);
  a->model = a->constants.first ? read_bound(a, model, bytes) : read_model(a, model, bytes, false);
  bool good = a->model && check_is_plain(a->model) == STATUS_OK && computed_undo(a->model) == STATUS_OK &&
              mode_note_eval(a->model) == STATUS_OK && a->error.status == STATUS_OK && !budget_missed();
  if (file) external_settle(file, good, false);
  if (!good) artifacts_forget_model(a);
  return good ? STATUS_OK : STATUS_INTERNAL;
}
