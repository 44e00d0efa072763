/* Feeds and promises of the fuzz targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST_ELEMENTS = 1 << 16 };

void hold_failed(const char *promise, const char *file, int line) {
  fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
  abort();
}

void hold_sentence(const Error *error) {
  if (error->status != STATUS_OK && (!error->text[0] || error->status == STATUS_INTERNAL))
    fprintf(stderr, "status %s: '%s'\n", status_code(error->status), error->text);
  hold(error->status == STATUS_OK || (error->text[0] && error->status != STATUS_INTERNAL));
}

static uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352D;
  x = (x ^ x >> 15) * 0x846CA68B;
  return x ^ x >> 16;
}

static float wild_float(uint32_t bits) {
  static const uint32_t telling[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 0x7F7FFFFF,
                                     0xFF7FFFFF, 1,          0x5F000000, 0xCF000000};
  uint32_t chosen = bits % 4 ? mixed(bits) : telling[bits / 4 % (sizeof telling / sizeof *telling)];
  float x;
  memcpy(&x, &chosen, sizeof x);
  return x;
}

static void put_tame(uint8_t *to, DType type, uint32_t bits) {
  int small = (int)(bits % 7) - 2;
  float f = (float)(bits % 4001) * 1e-3f - 2;
  double d = (double)f;
  switch (type) {
    case DTYPE_FLOAT32: memcpy(to, &f, sizeof f); return;
    case DTYPE_FLOAT64: memcpy(to, &d, sizeof d); return;
    case DTYPE_FLOAT16: to[0] = (uint8_t)bits, to[1] = (uint8_t)(0x38 + bits / 256 % 8 + (bits >> 20 & 0x80)); return;
    case DTYPE_BOOL: to[0] = bits & 1; return;
    default: memset(to, small < 0 ? 0xFF : 0, dtype_bytes(type)), to[0] = (uint8_t)small; return;
  }
}

static void put_wild(uint8_t *to, DType type, uint32_t bits) {
  float f = wild_float(bits);
  double d = (double)f;
  if (type == DTYPE_FLOAT32) memcpy(to, &f, sizeof f);
  else if (type == DTYPE_FLOAT64) memcpy(to, &d, sizeof d);
  else
    for (size_t k = 0; k < dtype_bytes(type); k++)
      to[k] = bits % 3 == 0              ? (uint8_t)(mixed(bits) >> 8 * (k % 4))
            : bits % 3 == 1              ? 0xFF
            : k + 1 == dtype_bytes(type) ? 0x80
                                         : 0;
}

static void fill(uint8_t *to, DType type, size_t count, const FuzzFeed *how) {
  size_t item = dtype_bytes(type);
  memset(to, 0, count * item);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits = mixed(how->seed + (uint32_t)i);
    if (how->values == FEED_ONES) to[i * item] = type != DTYPE_FLOAT32;
    else if (how->values == FEED_TAME) put_tame(to + i * item, type, bits);
    else put_wild(to + i * item, type, bits);
  }
}

/* Strings are empty, or one byte that is no UTF-8. */
static bool feed_strings(TrainletSession *s, TrainletPart part, const char *name, const Shape *shape, size_t count,
                         const FuzzFeed *how) {
  size_t each = how->values == FEED_WILD ? 2 : 1;
  char *to = trainlet_session_feed_text(s, part, name, shape->rank, shape->dim, count * each);
  if (!to) return false;
  if (count) memset(to, 0, count * each);
  for (size_t i = 0; i < count && each == 2; i++) to[2 * i] = (char)(0xF0 + i % 8);
  return true;
}

static bool feed_tensor_of(TrainletSession *s, TrainletPart part, const char *name, DType type, const Shape *shape,
                           const FuzzFeed *how) {
  size_t count;
  if (!shape_count(shape, &count) || count > MOST_ELEMENTS) return false;
  if (type == DTYPE_STRING) return feed_strings(s, part, name, shape, count, how);
  void *to = trainlet_session_feed(s, part, name, (int)type, shape->rank, shape->dim);
  if (to && count) fill(to, type, count, how);
  return to != NULL;
}

static bool feed_input(TrainletSession *s, TrainletPart part, const Value *v, const FuzzFeed *how) {
  const Declared *d = v->declared;
  Shape shape = d ? d->shape : v->shape;
  if (shape.rank < 0) shape = SHAPE(how->batch, 3);
  for (int i = 0; i < shape.rank; i++)
    if (dim_is_symbol(shape.dim[i])) shape.dim[i] = how->batch;
  if (!d || !d->sequence)
    return (d && d->optional && !how->items) || feed_tensor_of(s, part, v->name, d ? d->type : v->type, &shape, how);
  hold(trainlet_session_feed_sequence(s, part, v->name, how->items) == STATUS_OK);
  for (int i = 0; i < how->items; i++)
    if (!feed_tensor_of(s, part, v->name, d->type, &shape, how)) return false;
  return true;
}

bool fuzz_feed(TrainletSession *s, TrainletPart part, const FuzzFeed *how) {
  static const int models[] = {
      [TRAINLET_TRAIN] = MODEL_TRAIN, [TRAINLET_EVAL] = MODEL_EVAL, [TRAINLET_MODEL] = MODEL_INFERENCE};
  const Graph *g = s->models[models[part]].graph;
  for (int i = 0; i < g->input_count; i++) {
    FuzzFeed one = *how;
    one.seed += (uint32_t)i << 16;
    if (!feed_input(s, part, g->inputs[i], &one)) return false;
  }
  return true;
}

/* A gradient for every output that the last run gave; ids and other dims are refused. */
static void feed_gradients(TrainletSession *s, int id, const FuzzFeed *how) {
  int count = trainlet_session_output_count(s);
  for (int i = 0; i < count; i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    if (t->rank < 0 || t->count > MOST_ELEMENTS || t->type == DTYPE_STRING) continue;
    void *to = trainlet_session_feed_gradient(s, id, t->name, t->type, t->rank, t->dims);
    if (to && t->count) fill(to, (DType)t->type, t->count, how);
    hold_sentence(trainlet_session_error(s));
  }
}

void fuzz_outside(TrainletSession *s, const FuzzFeed *how) {
  const Graph *g = s->models[MODEL_TRAIN].graph;
  const char *input = g->input_count ? g->inputs[0]->name : NULL;
  int ids[3] = {0};
  for (int i = 0; i < 3; i++) {
    if (!fuzz_feed(s, TRAINLET_TRAIN, how) || trainlet_session_forward(s, &ids[i]) != STATUS_OK) continue;
    feed_gradients(s, ids[i], how);
  }
  hold_sentence(trainlet_session_error(s));
  for (int i = 1; i >= 0; i--) { /* the third stays open */
    trainlet_session_backward(s, ids[i], i ? input : NULL);
    hold_sentence(trainlet_session_error(s));
  }
  trainlet_session_optimize(s);
  trainlet_session_reset_grad(s);
  hold(trainlet_session_backward(s, ids[0], NULL) != STATUS_OK);
}

void hold_loads(TrainletPart part, const void *bytes, size_t count) {
  TrainletSession *s = trainlet_session_new();
  Status status = trainlet_session_load(s, part, bytes, count);
  if (status != STATUS_OK) fprintf(stderr, "%s\n", trainlet_session_error(s)->text);
  hold(status == STATUS_OK);
  trainlet_session_free(s);
}

void fuzz_save(TrainletSession *s, TrainletFormat format) {
  size_t count;
  if (trainlet_session_save(s, true, format) != STATUS_OK) {
    hold_sentence(trainlet_session_error(s));
    hold(trainlet_session_error(s)->status == STATUS_NON_FINITE_LOSS);
    return;
  }
  const void *saved = trainlet_session_result(s, &count);
  hold_loads(TRAINLET_CHECKPOINT, saved, count);
}
