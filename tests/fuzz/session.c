/* Fuzzes the whole way: a hostile model becomes artifacts, the artifacts a session, and the session takes two steps and exports. */
#include <stdlib.h>
#include <string.h>

#include "run/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { LIMIT_BYTES = 32 << 20, BATCH = 2 };

static void hold(bool good) {
  if (!good) abort();
}

/* Ones (so that labels lie inside two classes) for every input, symbols bound to BATCH. */
static bool feed_all(TrainletSession *s, TrainletPart part, int model) {
  const Graph *g = s->models[model].graph;
  for (int i = 0; i < g->input_count; i++) {
    const Value *v = g->inputs[i];
    Shape shape = v->shape;
    if (v->type == DTYPE_STRING) return false; /* inference.c feeds those */
    for (int k = 0; k < shape.rank; k++)
      if (dim_is_symbol(shape.dim[k])) shape.dim[k] = BATCH;
    uint8_t *to = trainlet_session_feed(s, part, v->name, (int)v->type, shape.rank, shape.dim);
    if (!to) return false;
    size_t elements = shape_elements(&shape), bytes = dtype_bytes(v->type);
    memset(to, 0, elements * bytes);
    for (size_t k = 0; k < elements; k++) to[k * bytes] = v->type != DTYPE_FLOAT32;
  }
  return true;
}

static void run(TrainletSession *s) {
  for (int step = 0; step < 2; step++)
    if (feed_all(s, TRAINLET_TRAIN, MODEL_TRAIN)) trainlet_session_step(s);
  if (feed_all(s, TRAINLET_EVAL, MODEL_EVAL)) trainlet_session_run(s, TRAINLET_EVAL, NULL);
  for (TrainletFormat format = TRAINLET_FORMAT_TRAINLET; format <= TRAINLET_FORMAT_ORT_2; format++)
    hold(trainlet_session_save(s, true, format) == STATUS_OK);
  trainlet_session_export(s, NULL, false);
  trainlet_session_export(s, NULL, true);
  hold(trainlet_session_json(s) != NULL);
}

static void train(const uint8_t *bytes, size_t count, const char *loss) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  hold(a != NULL);
  hold(trainlet_artifacts_load(a, bytes, count) != STATUS_OK || trainlet_artifacts_set(a, "loss.type", loss) == STATUS_OK);
  if (trainlet_artifacts_error(a)->status == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK) {
    TrainletSession *s = trainlet_session_new();
    trainlet_session_limit(s, LIMIT_BYTES);
    bool loaded = true;
    for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
      size_t length;
      const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &length);
      hold(trainlet_session_load(s, (TrainletPart)part, data, length) == STATUS_OK); /* what we wrote, we read */
    }
    loaded = trainlet_session_ready(s) == STATUS_OK;
    if (loaded) run(s);
    trainlet_session_free(s);
  } else hold(trainlet_artifacts_error(a)->text[0] != 0);
  trainlet_artifacts_free(a);
}

static void infer(const uint8_t *bytes, size_t count) {
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, LIMIT_BYTES);
  if (trainlet_session_load(s, TRAINLET_MODEL, bytes, count) == STATUS_OK && trainlet_session_ready(s) == STATUS_OK &&
      feed_all(s, TRAINLET_MODEL, MODEL_INFERENCE))
    trainlet_session_run(s, TRAINLET_MODEL, NULL);
  trainlet_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  train(bytes, count, "cross-entropy");
  train(bytes, count, "mse");
  infer(bytes, count);
  return 0;
}
