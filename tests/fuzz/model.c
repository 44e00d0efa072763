/* Fuzzes the ONNX reader, with a file of external data at hand: whatever bytes come, it refuses them with a sentence or
 * gives a graph that is read back as it was written; and the training_info with it: refused, or made into artifacts
 * whose session exports what is read again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "onnx/onnx.h"
#include "train/optimizer.h"

/* The second of two nodes with one name is written without, and read under its first output's. */
static void hold_node_names(const Graph *g, Graph *again) {
  hold(g->node_count == again->node_count);
  for (int i = 0; i < g->node_count; i++) {
    Node *was = g->nodes[i], *is = again->nodes[i];
    hold(strcmp(was->name, is->name) == 0 || !is->out_count || !is->out[0] || strcmp(is->name, is->out[0]->name) == 0);
    is->name = was->name;
  }
}

static void write_and_read_again(const Graph *g) {
  Arena arena = {0};
  Error error = {0};
  Block block = {0};
  size_t written;
  hold(onnx_write(g, false, &block, &written) == STATUS_OK);
  Graph *again = onnx_read(block.data, written, NULL, &arena, &error);
  hold(again && error.status == STATUS_OK);
  hold_node_names(g, again);
  const char *was = graph_print(g, &arena), *is = graph_print(again, &arena);
  hold(was && is && strcmp(was, is) == 0);
  block_free(&block);
  arena_free(&arena);
}

static const char location[] = "weights.bin";
enum { FILE_BYTES = 64, LIMIT_BYTES = 32 << 20 };
#define ARTIFACTS_LIMIT "33554432"

static TrainletArtifacts *by_training_info(const uint8_t *bytes, size_t count) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  memset(trainlet_artifacts_external(a, location, FILE_BYTES), 1, FILE_BYTES);
  bool good = trainlet_artifacts_set(a, "maxMemoryBytes", ARTIFACTS_LIMIT) == STATUS_OK &&
              trainlet_artifacts_load(a, bytes, count) == STATUS_OK &&
              trainlet_artifacts_set(a, "loss.type", "training-info") == STATUS_OK &&
              trainlet_artifacts_build(a) == STATUS_OK;
  const Error *error = trainlet_artifacts_error(a);
  hold(good == (error->status == STATUS_OK) && (good || (error->text[0] && error->status != STATUS_INTERNAL)));
  if (good) return a;
  trainlet_artifacts_free(a);
  return NULL;
}

/* Some sessions cannot be exported (names that collide, say), but what was exported is understood. */
static void train_and_export(const TrainletArtifacts *a) {
  TrainletSession *s = trainlet_session_new();
  bool ready = true;
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT && ready; part++) {
    size_t length;
    const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &length);
    ready = trainlet_session_load(s, (TrainletPart)part, data, length) == STATUS_OK;
  }
  hold(ready);
  if (trainlet_session_ready(s) == STATUS_OK && trainlet_session_export(s, NULL, true) == STATUS_OK) {
    size_t length;
    const void *data = trainlet_session_result(s, &length);
    TrainletArtifacts *again = by_training_info(data, length);
    hold(again != NULL);
    trainlet_artifacts_free(again);
  }
  trainlet_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Optimizer optimizer;
  External external = {0};
  memset(external_add(&external, location, FILE_BYTES, &arena), 1, FILE_BYTES);
  Budget budget = {.limit_bytes = LIMIT_BYTES};
  budget_enter(&budget, &error);
  Graph *g = onnx_read(bytes, count, &external, &arena, &error);
  hold((g == NULL) == (error.status != STATUS_OK) || budget_missed());
  if (budget_leave(&budget, &error, g) != STATUS_OK) g = NULL;
  hold_sentence(&error);
  if (g) write_and_read_again(g);
  error_clear(&error);
  budget_enter(&budget, &error);
  Status status = optimizer_model_read(bytes, count, &external, &error, &optimizer);
  hold(status == error.status);
  hold(budget_leave(&budget, &error, status == STATUS_OK) == error.status);
  hold_sentence(&error);
  external_free(&external);
  arena_free(&arena);
  TrainletArtifacts *a = by_training_info(bytes, count);
  if (a) train_and_export(a);
  trainlet_artifacts_free(a);
  return 0;
}
