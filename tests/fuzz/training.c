/* Fuzzes the training model: hostile bytes as the train model beside whole artifacts (run in the repository's root), two steps and save. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { LIMIT_BYTES = 32 << 20, BATCH = 2 };

static void hold(bool good) {
  if (!good) abort();
}

static TrainletArtifacts *whole_artifacts(void) {
  static uint8_t model[1 << 16];
  FILE *file = fopen("tests/golden/mlp_small.onnx", "rb");
  hold(file != NULL);
  size_t count = fread(model, 1, sizeof model, file);
  fclose(file);
  TrainletArtifacts *a = trainlet_artifacts_new();
  hold(trainlet_artifacts_load(a, model, count) == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK);
  return a;
}

static bool feed_zeros(TrainletSession *s) {
  const Graph *g = s->models[MODEL_TRAIN].graph;
  for (int i = 0; i < g->input_count; i++) {
    const Value *v = g->inputs[i];
    Shape shape = v->shape;
    for (int k = 0; k < shape.rank; k++)
      if (dim_is_symbol(shape.dim[k])) shape.dim[k] = BATCH;
    void *to = trainlet_session_feed(s, TRAINLET_TRAIN, v->name, (int)v->type, shape.rank, shape.dim);
    if (!to) return false;
    memset(to, 0, shape_elements(&shape) * dtype_bytes(v->type));
  }
  return true;
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
    for (int step = 0; step < 2; step++)
      if (feed_zeros(s)) trainlet_session_step(s);
    if (feed_zeros(s)) trainlet_session_run(s, TRAINLET_TRAIN, NULL);
    hold(trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET) == STATUS_OK);
  }
  trainlet_session_free(s);
  return 0;
}
