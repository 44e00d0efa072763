/* Fuzzes inference of a hostile model: whatever inputs it declares (tensors, strings, sequences, optionals) are fed, and it is run twice.
 * A large one is read in place, as a file of the session: a seed of more than 64 KB in one initializer leads there. */
#include <stdlib.h>
#include <string.h>

#include "run/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { LIMIT_BYTES = 16 << 20, BATCH = 2, MOST_ELEMENTS = 1 << 16, IN_PLACE_BYTES = 1 << 16 };

static void hold(bool good) {
  if (!good) abort();
}

/* Ones, which are positions too, and empty strings. */
static bool feed_tensor_of(TrainletSession *s, const char *name, DType type, const Shape *shape) {
  size_t count;
  if (!shape_count(shape, &count) || count > MOST_ELEMENTS) return false;
  char *to = type == DTYPE_STRING ? trainlet_session_feed_text(s, TRAINLET_MODEL, name, shape->rank, shape->dim, count)
                                  : trainlet_session_feed(s, TRAINLET_MODEL, name, (int)type, shape->rank, shape->dim);
  if (!to) return false;
  size_t item = type == DTYPE_STRING ? 1 : dtype_bytes(type);
  memset(to, 0, count * item);
  for (size_t i = 0; i < count && type != DTYPE_STRING; i++) to[i * item] = type != DTYPE_FLOAT32;
  return true;
}

static bool feed_input(TrainletSession *s, const Value *v, int items) {
  const Declared *d = v->declared;
  Shape shape = d ? d->shape : v->shape;
  if (shape.rank < 0) shape = SHAPE(BATCH, 3);
  for (int i = 0; i < shape.rank; i++)
    if (dim_is_symbol(shape.dim[i])) shape.dim[i] = BATCH;
  if (!d || !d->sequence) return (d && d->optional && !items) || feed_tensor_of(s, v->name, d ? d->type : v->type, &shape);
  hold(trainlet_session_feed_sequence(s, TRAINLET_MODEL, v->name, items) == STATUS_OK);
  for (int i = 0; i < items; i++)
    if (!feed_tensor_of(s, v->name, d->type, &shape)) return false;
  return true;
}

/* Every byte of the results is there; strings end. */
static size_t read_outputs(const TrainletSession *s) {
  size_t sum = 0;
  for (int i = 0; i < trainlet_session_output_count(s); i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    for (size_t k = 0; t->rank >= 0 && t->type != DTYPE_STRING && k < t->bytes; k++) sum += ((const uint8_t *)t->data)[k];
    for (size_t k = 0; t->rank >= 0 && t->type == DTYPE_STRING && k < t->count; k++)
      if (((const char *const *)t->data)[k]) sum += strlen(((const char *const *)t->data)[k]);
  }
  return sum;
}

static bool load(TrainletSession *s, const uint8_t *bytes, size_t count) {
  if (count >= IN_PLACE_BYTES) {
    void *file = trainlet_session_file(s, count);
    hold(file != NULL);
    bytes = memcpy(file, bytes, count);
  }
  return trainlet_session_load(s, TRAINLET_MODEL, bytes, count) == STATUS_OK && trainlet_session_ready(s) == STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static volatile size_t seen;
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, LIMIT_BYTES);
  bool good = load(s, bytes, count);
  for (int run = 0; run < 2 && good; run++) {
    const Graph *g = s->models[MODEL_INFERENCE].graph;
    bool fed = true;
    for (int i = 0; i < g->input_count && fed; i++) fed = feed_input(s, g->inputs[i], 2 - 2 * run);
    if (fed && trainlet_session_run(s, TRAINLET_MODEL, NULL) == STATUS_OK) seen += read_outputs(s);
    hold(trainlet_session_json(s) != NULL);
  }
  const Error *error = trainlet_session_error(s);
  hold(error->status == STATUS_OK || (error->text[0] && error->status != STATUS_INTERNAL));
  trainlet_session_free(s);
  return 0;
}
