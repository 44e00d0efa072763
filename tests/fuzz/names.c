/* Fuzzes names: of parameters, inputs, outputs, nodes, symbols, files and properties. A model with them is refused with
 * a sentence; or what it becomes can be trained, saved in one of the formats, loaded and exported, and every name comes
 * back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "fuzz.h"

enum { PROPERTIES = 3, FILE_BYTES = 16 };

typedef struct Names {
  const char *x, *w, *b, *y, *node, *symbol, *location, *property[PROPERTIES], *value;
  bool external;
  TrainletFormat format;
  uint8_t kinds;
} Names;

/* ---- the model: y = Gemm(x, w, b) ---- */

static uint8_t *write_model(const Names *n, size_t *bytes) {
  static const float w_data[] = {0.5f, -0.25f, 1, 0.125f}, b_data[] = {0.1f, -0.2f};
  static const int64_t of_batch[] = {-1, 2}, w_dims[] = {2, 2};
  static Builder b;
  builder_begin(&b, 13);
  builder_input(&b, n->x, n->symbol, 2, of_batch);
  builder_output(&b, n->y, n->symbol, 2, of_batch);
  Onnx__TensorProto *w = builder_floats(&b, n->w, 2, w_dims, w_data);
  builder_floats(&b, n->b, 1, w_dims, b_data);
  if (n->external) builder_keep_outside(&b, w, n->location);
  builder_node(&b, "Gemm", n->node, (const char *const[]){n->x, n->w, n->b}, 3, n->y);
  return builder_end(&b, bytes);
}

/* ---- text that leaves the engine ---- */

static bool is_utf8(const char *s) {
  const uint8_t *p = (const uint8_t *)s;
  while (*p) {
    int more = *p < 0x80               ? 0
             : *p >= 0xC2 && *p < 0xE0 ? 1
             : *p >= 0xE0 && *p < 0xF0 ? 2
             : *p >= 0xF0 && *p < 0xF5 ? 3
                                       : -1;
    if (more < 0 || (*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) || (*p == 0xF0 && p[1] < 0x90) ||
        (*p == 0xF4 && p[1] > 0x8F))
      return false;
    for (p++; more; more--, p++)
      if ((*p & 0xC0) != 0x80) return false;
  }
  return true;
}

/* ---- the way ---- */

/* Sets properties: each is taken, or refused with a sentence and not there. */
static void set_properties(TrainletSession *s, const Names *n) {
  for (int i = 0; i < PROPERTIES; i++) {
    int kind = n->kinds >> 2 * i & 3;
    if (kind == 0) trainlet_session_property_set_int(s, n->property[i], -7);
    else if (kind == 1) trainlet_session_property_set_float(s, n->property[i], 0.5);
    else trainlet_session_property_set_string(s, n->property[i], n->value);
    hold_sentence(trainlet_session_error(s));
  }
}

static TrainletSession *open_session(const TrainletArtifacts *a, const void *checkpoint, size_t checkpoint_bytes) {
  TrainletSession *s = trainlet_session_new();
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    size_t bytes;
    const void *data = trainlet_artifacts_bytes(a, (TrainletPart)part, &bytes);
    if (part == TRAINLET_CHECKPOINT && checkpoint) data = checkpoint, bytes = checkpoint_bytes;
    Status status = trainlet_session_load(s, (TrainletPart)part, data, bytes);
    hold_sentence(trainlet_session_error(s));
    hold(status == STATUS_OK);
  }
  Status status = trainlet_session_ready(s);
  if (status != STATUS_OK) fprintf(stderr, "%s\n", trainlet_session_error(s)->text);
  hold(status == STATUS_OK);
  return s;
}

static void hold_equal(TrainletSession *was, TrainletSession *is) {
  hold(trainlet_session_parameter_count(was) == trainlet_session_parameter_count(is));
  for (int i = 0; i < trainlet_session_parameter_count(was); i++) {
    TrainletTensor p = trainlet_session_parameter(was, i), q = trainlet_session_parameter(is, i);
    hold(strcmp(p.name, q.name) == 0 && p.bytes == q.bytes && memcmp(p.data, q.data, p.bytes) == 0);
  }
  hold(was->property_count == is->property_count);
  for (int i = 0; i < was->property_count; i++) {
    const Property *p = &was->properties[i], *q = NULL;
    for (int k = 0; k < is->property_count; k++)
      if (strcmp(is->properties[k].name, p->name) == 0) q = &is->properties[k];
    hold(q && p->kind == q->kind);
    hold(p->kind == PROPERTY_INT ? p->i == q->i : p->kind == PROPERTY_FLOAT ? p->f == q->f : strcmp(p->s, q->s) == 0);
  }
}

static void save_and_load(const TrainletArtifacts *a, TrainletSession *s, TrainletFormat format) {
  size_t bytes;
  hold(trainlet_session_save(s, true, format) ==
       STATUS_OK); /* properties were checked when they were set, names when the model was read */
  const void *saved = trainlet_session_result(s, &bytes);
  TrainletSession *again = open_session(a, saved, bytes);
  hold_equal(s, again);
  trainlet_session_free(again);
}

/* The exported model gives the output by its name. */
static void export_and_run(TrainletSession *s, const Names *n) {
  static const FuzzFeed how = {2, 1, FEED_TAME, 9};
  size_t bytes;
  hold(trainlet_session_export(s, n->y, false) == STATUS_OK);
  const void *model = trainlet_session_result(s, &bytes);
  TrainletSession *i = trainlet_session_new();
  hold(trainlet_session_load(i, TRAINLET_MODEL, model, bytes) == STATUS_OK && trainlet_session_ready(i) == STATUS_OK);
  hold(fuzz_feed(i, TRAINLET_MODEL, &how) && trainlet_session_run(i, TRAINLET_MODEL, n->y) == STATUS_OK);
  hold(trainlet_session_output_count(i) == 1 && strcmp(trainlet_session_output(i, 0)->name, n->y) == 0);
  const Graph *g = i->models[MODEL_INFERENCE].graph;
  hold(g->input_count == 0 ? strcmp(n->x, n->w) == 0 || strcmp(n->x, n->b) == 0
                           : strcmp(g->inputs[0]->name, n->x) == 0); /* an initializer may be an input's default */
  trainlet_session_free(i);
}

static void train(const TrainletArtifacts *a, const Names *n) {
  static const FuzzFeed how = {2, 1, FEED_TAME, 5};
  TrainletSession *s = open_session(a, NULL, 0);
  hold(fuzz_feed(s, TRAINLET_TRAIN, &how) && trainlet_session_step(s) == STATUS_OK);
  set_properties(s, n);
  const char *json = trainlet_session_json(s);
  hold(json && is_utf8(json));
  json = trainlet_session_properties(s);
  hold(json && is_utf8(json));
  save_and_load(a, s, n->format);
  export_and_run(s, n);
  trainlet_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static char memory[10 + PROPERTIES][INPUT_TEXT];
  static const float weights[] = {0.5f, -0.25f, 1, 0.125f};
  Input in = {bytes, bytes + count};
  Names n = {.kinds = input_byte(&in)};
  int ways = input_byte(&in);
  n.external = ways & 1;
  n.format = (TrainletFormat)(TRAINLET_FORMAT_TRAINLET +
                              ways / 2 % (TRAINLET_FORMAT_ORT_2 - TRAINLET_FORMAT_TRAINLET + 1));
  /* A bit of the mask for each name that is the input's own: with all of them, hardly a model would be whole. */
  int chosen = input_byte(&in), k = 0;
  const char **names[] = {&n.x, &n.w, &n.b, &n.y, &n.node, &n.symbol, &n.location};
  static const char *const plain[] = {"x", "w", "b", "y", "node", "N", "weights.bin"};
  for (; k < 7; k++) *names[k] = chosen >> k & 1 ? input_text(&in, memory[k]) : plain[k];
  for (int i = 0; i < PROPERTIES; i++) n.property[i] = input_text(&in, memory[k++]);
  n.value = input_text(&in, memory[k]);
  size_t model_bytes;
  uint8_t *model = write_model(&n, &model_bytes);
  TrainletArtifacts *a = trainlet_artifacts_new();
  void *file = n.external ? trainlet_artifacts_external(a, n.location, FILE_BYTES) : NULL;
  if (file) memcpy(file, weights, FILE_BYTES);
  if (trainlet_artifacts_load(a, model, model_bytes) == STATUS_OK &&
      trainlet_artifacts_set(a, "loss.type", "mse") == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK)
    train(a, &n);
  hold_sentence(trainlet_artifacts_error(a));
  trainlet_artifacts_free(a);
  free(model);
  return 0;
}
