/* Fuzzes the public API: calls in any order on artifacts and two sessions, with parts that belong to each other or not.
 * Nothing crashes, and what is refused is so with a sentence. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { SESSIONS = 2, CALLS_MAX = 48, LIMIT_BYTES = 8 << 20, FILE_BYTES = 16 };
/* Loaded files: models, then the four files and a checkpoint of each way to train one of the first two. */
enum { MODELS = 4, WAYS = 4, PARTS = TRAINLET_CHECKPOINT + 2, BLOBS = MODELS + WAYS * PARTS };

/* ---- bytes to load: whole ones, made once ---- */

typedef struct Blob {
  uint8_t *bytes;
  size_t count;
} Blob;
static Blob blobs[BLOBS];
static int blob_count;

static void keep(const void *bytes, size_t count) {
  hold(blob_count < BLOBS);
  blobs[blob_count] = (Blob){malloc(count + 1), count};
  if (bytes) memcpy(blobs[blob_count].bytes, bytes, count);
  blob_count++;
}

static void keep_file(const char *path) {
  static uint8_t bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  hold(file != NULL);
  keep(bytes, fread(bytes, 1, sizeof bytes, file));
  fclose(file);
}

/* A way to train a model: with its loss inside or outside, as it is or on a new head. */
typedef struct Way {
  int model;
  const char *loss, *optimizer;
  bool head;
} Way;
static const Way ways[WAYS] = {{0, "cross-entropy", "adamw", false},
                               {1, "mse", "sgd", false},
                               {1, "cross-entropy", "adamw", true},
                               {0, "outside", "sgd", false}};

/* The artifacts of a model, and a checkpoint of a session on them in ONNX Runtime's format. */
static void keep_trained(const Way *way) {
  TrainletArtifacts *a = trainlet_artifacts_new();
  TrainletSession *s = trainlet_session_new();
  size_t count;
  hold(trainlet_artifacts_load(a, blobs[way->model].bytes, blobs[way->model].count) == STATUS_OK &&
       trainlet_artifacts_set(a, "loss.type", way->loss) == STATUS_OK &&
       trainlet_artifacts_set(a, "optimizer.type", way->optimizer) == STATUS_OK);
  if (way->head)
    hold(trainlet_artifacts_set(a, "head.classes", "a") == STATUS_OK &&
         trainlet_artifacts_set(a, "head.classes", "b") == STATUS_OK);
  hold(trainlet_artifacts_build(a) == STATUS_OK);
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    const void *bytes = trainlet_artifacts_bytes(a, (TrainletPart)part, &count);
    keep(bytes, count);
    hold(!bytes || trainlet_session_load(s, (TrainletPart)part, bytes, count) == STATUS_OK);
  }
  hold(trainlet_session_ready(s) == STATUS_OK && trainlet_session_save(s, true, TRAINLET_FORMAT_ORT_2) == STATUS_OK);
  const void *saved = trainlet_session_result(s, &count);
  keep(saved, count);
  trainlet_session_free(s);
  trainlet_artifacts_free(a);
}

static void make_blobs(void) {
  keep_file("tests/golden/data/lora_linear.onnx");
  keep_file("tests/golden/data/regression.onnx");
  keep_file("tests/golden/data/subgraphs/fed_list.onnx");
  keep_file("tests/golden/data/subgraphs/fed_texts.onnx");
  for (int i = 0; i < WAYS; i++) keep_trained(&ways[i]);
  hold(blob_count == BLOBS);
}

/* ---- calls ---- */

typedef struct Run {
  Input in;
  TrainletArtifacts *artifacts;
  TrainletSession *sessions[SESSIONS];
  char text[2][INPUT_TEXT];
  int questions[SESSIONS];
} Run;

static TrainletPart any_part(Input *in) { return (TrainletPart)(input_below(in, 8) - 1); }
static const Blob *any_blob(Input *in) { return &blobs[input_below(in, blob_count)]; }

static void change_artifacts(Run *r) {
  static const char *const keys[] = {"loss.type",
                                     "optimizer.type",
                                     "optimizer.lr",
                                     "requiresGrad",
                                     "frozen",
                                     "lossInputs",
                                     "additionalOutputs",
                                     "nominal",
                                     "passes",
                                     "optimizer.clipGradNorm",
                                     "initialize",
                                     "loss.ignoreIndex",
                                     "head.classes",
                                     "head.classes",
                                     "head.at",
                                     "head.hidden",
                                     "loss.labelSmoothing",
                                     "loss.sampleWeights",
                                     "ortFormat",
                                     "untie"};
  static const char *const values[] = {"cross-entropy", "mse",  "training-info", "sgd", "adamw",   "*",   "1", "-1",
                                       "nan",           "1e39", "true",          "",    "outside", "0.1", "3", "cat"};
  const Blob *b;
  const char *key;
  size_t count;
  void *to;
  switch (input_below(&r->in, 6)) {
    case 0:
      b = any_blob(&r->in);
      trainlet_artifacts_load(r->artifacts, b->bytes, b->count);
      break;
    case 1:
      key = keys[input_below(&r->in, sizeof keys / sizeof *keys)];
      trainlet_artifacts_set(r->artifacts, key, values[input_below(&r->in, sizeof values / sizeof *values)]);
      break;
    case 2:
      key = input_text(&r->in, r->text[0]);
      trainlet_artifacts_set(r->artifacts, key, input_text(&r->in, r->text[1]));
      break;
    case 3: trainlet_artifacts_build(r->artifacts); break;
    case 4:
      if ((to = trainlet_artifacts_external(r->artifacts, input_text(&r->in, r->text[0]), FILE_BYTES)))
        memset(to, 1, FILE_BYTES);
      break;
    default:
      trainlet_artifacts_bytes(r->artifacts, any_part(&r->in), &count);
      hold(trainlet_artifacts_warnings(r->artifacts) != NULL);
  }
  hold_sentence(trainlet_artifacts_error(r->artifacts));
}

/* A part from the artifacts as they are, or one of the blobs; in place now and then. */
static void load(Run *r, TrainletSession *s) {
  TrainletPart part = any_part(&r->in), from = any_part(&r->in);
  size_t count = 0;
  const void *bytes = r->artifacts && from <= TRAINLET_CHECKPOINT ? trainlet_artifacts_bytes(r->artifacts, from, &count)
                                                                  : NULL;
  const Blob *b = any_blob(&r->in);
  if (!bytes) bytes = b->bytes, count = b->count;
  void *file = input_below(&r->in, 4) == 0 ? trainlet_session_file(s, count) : NULL;
  if (file) bytes = memcpy(file, bytes, count);
  trainlet_session_load(s, part, bytes, count);
}

/* All that belongs together, so that runs are not only refused. */
static void load_whole(Run *r, TrainletSession *s) {
  int way = input_below(&r->in, WAYS);
  const Blob *parts = &blobs[MODELS + way * PARTS], *model = &blobs[ways[way].model];
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++)
    trainlet_session_load(s, (TrainletPart)part, parts[part].bytes, parts[part].count);
  trainlet_session_load(s, TRAINLET_MODEL, model->bytes, model->count);
  if (input_below(&r->in, 4)) trainlet_session_ready(s);
}

/* The first input's, or any. */
static const char *any_name(Run *r, TrainletSession *s) {
  const char *name = input_text(&r->in, r->text[0]);
  const Graph *g = s->ready ? s->models[MODEL_TRAIN].graph : NULL;
  return input_below(&r->in, 2) && g && g->input_count ? g->inputs[0]->name : name;
}

static void decode(Run *r, TrainletSession *s) {
  TrainletPart part = any_part(&r->in);
  const char *input = any_name(r, s), *output = input_text(&r->in, r->text[1]);
  TrainletDecode d = {.fetches = output,
                      .past = input_below(&r->in, 2) ? input : "",
                      .from_end = input_below(&r->in, 4) - 1,
                      .axis = input_below(&r->in, 4) - 1,
                      .length = input_below(&r->in, 6) - 1,
                      .goes_on = input_below(&r->in, 2)};
  trainlet_session_decode(s, part, &d);
}

static void feed_wrong(Run *r, TrainletSession *s) {
  int64_t dims[12];
  int rank = input_below(&r->in, 12) - 1, type = input_below(&r->in, 20);
  for (int i = 0; i < 12; i++) dims[i] = (int64_t)input_byte(&r->in) - 2;
  if (input_below(&r->in, 8) == 0) dims[0] = INT64_MAX / 2;
  TrainletPart part = any_part(&r->in);
  const char *name = any_name(r, s);
  int kind = input_below(&r->in, 3);
  if (kind == 0) trainlet_session_feed(s, part, name, type, rank, dims);
  else if (kind == 1) trainlet_session_feed_text(s, part, name, rank, dims, (size_t)input_byte(&r->in));
  else trainlet_session_feed_sequence(s, part, name, input_byte(&r->in) - 1);
}

static void feed(Run *r, TrainletSession *s) {
  static const TrainletPart parts[] = {TRAINLET_TRAIN, TRAINLET_EVAL, TRAINLET_MODEL};
  static const int models[] = {MODEL_TRAIN, MODEL_EVAL, MODEL_INFERENCE};
  int part = input_below(&r->in, 3);
  FuzzFeed how = {.batch = input_below(&r->in, 4),
                  .items = input_below(&r->in, 3),
                  .values = (FeedValues)input_below(&r->in, 3),
                  .seed = input_byte(&r->in)};
  if (s->ready && s->models[models[part]].graph) fuzz_feed(s, parts[part], &how);
}

/* One loop over bytes in and out: what was written is read. */
static void copy_parameters(Run *r, TrainletSession *s) {
  bool all = input_below(&r->in, 2), in = input_below(&r->in, 2);
  size_t count = trainlet_session_element_count(s, !all);
  float *values = malloc((count + 1) * sizeof *values);
  memset(values, 0, (count + 1) * sizeof *values);
  if (s->ready && !s->lacks_values) trainlet_session_copy_out(s, !all, values);
  for (size_t i = 0; i < count && in; i++) values[i] = (float)(i % 5) * 0.25f;
  if (s->ready && in) trainlet_session_copy_in(s, !all, values);
  free(values);
}

static void look(Run *r, TrainletSession *s) {
  int i = input_byte(&r->in) - 2;
  size_t bytes;
  TrainletTensor p = trainlet_session_parameter(s, i);
  hold(s->ready ? (p.name != NULL) == (i >= 0 && i < trainlet_session_parameter_count(s)) : true);
  trainlet_session_parameter_trainable(s, i);
  trainlet_session_output(s, i);
  trainlet_session_position(s, i);
  trainlet_session_result(s, &bytes);
  hold(trainlet_session_json(s) != NULL && trainlet_session_properties(s) != NULL);
  for (int k = 0; k < trainlet_session_output_count(s); k++) hold(trainlet_session_output(s, k)->name != NULL);
}

static void set_numbers(Run *r, TrainletSession *s) {
  static const double numbers[] = {0, 1e-3, -1, 1e300, INFINITY, NAN, 1 << 20, LIMIT_BYTES};
  double x = numbers[input_below(&r->in, 8)];
  switch (input_below(&r->in, 5)) {
    case 0: trainlet_session_limit(s, x > 0 && x < LIMIT_BYTES ? x : LIMIT_BYTES); break;
    case 1: trainlet_session_set_lr(s, x); break;
    case 2: trainlet_session_set_seed(s, input_byte(&r->in)); break;
    case 3: trainlet_session_set_position(s, input_byte(&r->in) - 2, INT64_MIN + input_byte(&r->in)); break;
    default: trainlet_session_set_passes(s, input_byte(&r->in) * 0x01010101u);
  }
}

static void set_property(Run *r, TrainletSession *s) {
  const char *name = input_text(&r->in, r->text[0]);
  switch (input_below(&r->in, 4)) {
    case 0: trainlet_session_property_set_int(s, name, INT64_MIN); break;
    case 1: trainlet_session_property_set_float(s, name, input_below(&r->in, 2) ? 1e300 : 0.5); break;
    case 2: trainlet_session_property_set_string(s, name, input_text(&r->in, r->text[1])); break;
    default: trainlet_session_property_delete(s, name);
  }
}

static void save(Run *r, TrainletSession *s) {
  size_t bytes;
  bool optimizer_state = input_below(&r->in, 2);
  if (trainlet_session_save(s, optimizer_state, (TrainletFormat)(input_below(&r->in, 5) - 1)) == STATUS_OK) {
    const void *saved = trainlet_session_result(s, &bytes);
    hold_loads(TRAINLET_CHECKPOINT, saved, bytes);
  }
}

static void export(Run *r, TrainletSession *s) {
  const char *names = input_below(&r->in, 2) ? NULL : input_text(&r->in, r->text[0]);
  bool training_info = input_below(&r->in, 2);
  size_t bytes;
  if (trainlet_session_export(s, names, training_info) == STATUS_OK) {
    const void *model = trainlet_session_result(s, &bytes);
    hold_loads(TRAINLET_MODEL, model, bytes);
  }
}

/* After so many questions it says yes. */
static bool asked(void *context) {
  int *left = context;
  return (*left)-- <= 0;
}

static void stop_later(Run *r, TrainletSession *s) {
  r->questions[s == r->sessions[1]] = input_byte(&r->in);
  trainlet_session_stop_when(s, input_below(&r->in, 3) ? asked : NULL, &r->questions[s == r->sessions[1]]);
}

/* Text kept for a fit comes back, whatever it is. */
static void keep_fit(Run *r, TrainletSession *s) {
  const char *text = input_text(&r->in, r->text[0]);
  if (trainlet_session_set_fit(s, text) == STATUS_OK) hold(strcmp(trainlet_session_fit(s), text) == 0);
}

/* One of those that are understood, or any text. */
static const char *any_of(Run *r, const char *const *texts, int count) {
  int i = input_below(&r->in, count + 1);
  return i < count ? texts[i] : input_text(&r->in, r->text[0]);
}

/* Sets which parameters train, how fast, within which bounds; and their average. */
static void set_training(Run *r, TrainletSession *s) {
  static const char *const groups[] = {"",
                                       "*\n0.5\n\n0.5\n",
                                       "*weight\n2\n0.1\n\n",
                                       "*\nnan\n\n\n",
                                       "none\n\n\n\n",
                                       "*\n\n\n\nfc1*\n0\n-1\n\n",
                                       "*\n1e39\n1e39\n1e39\n",
                                       "*\n1",
                                       "fc1*\n\n\n3\n"};
  static const char *const patterns[] = {"*", "fc1*", "fc2*", "*bias", "head.*", "none", "", "fc1*\nfc2*"};
  static const double numbers[] = {0, 0.5, 0.999, 1, -1, NAN, INFINITY, -INFINITY};
  double x = numbers[input_below(&r->in, 8)], y = numbers[input_below(&r->in, 8)];
  switch (input_below(&r->in, 6)) {
    case 0: trainlet_session_set_groups(s, any_of(r, groups, 9)); break;
    case 1: trainlet_session_set_ema(s, x, y > 0); break;
    case 2: trainlet_session_swap_ema(s); break;
    case 3: trainlet_session_bound(s, any_of(r, patterns, 8), x, y); break;
    case 4: trainlet_session_unbound(s); break;
    default: trainlet_session_set_trainable(s, any_of(r, patterns, 8));
  }
}

/* The outputs of the last run, fed again as features. */
static void feed_features(TrainletSession *s) {
  for (int i = 0; i < trainlet_session_output_count(s); i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    void *to = trainlet_session_feed(s, TRAINLET_TRAIN, t->name, t->type, t->rank, t->dims);
    if (to) memcpy(to, t->data, t->bytes);
  }
}

static void features(Run *r, TrainletSession *s) {
  if (input_below(&r->in, 4)) trainlet_session_features(s);
  if (input_below(&r->in, 4)) feed(r, s);
  if (trainlet_session_run_features(s) == STATUS_OK) {
    if (input_below(&r->in, 2)) feed(r, s);
    feed_features(s);
  }
}

/* A step in two halves; the first may stay open, the second may name one that never was. */
static void halves(Run *r, TrainletSession *s) {
  static const char *const inputs[] = {"input", "x", "none"};
  int id = input_byte(&r->in) - 2;
  if (input_below(&r->in, 2)) trainlet_session_forward(s, &id);
  for (int i = 0; i < trainlet_session_output_count(s) && input_below(&r->in, 4); i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    void *to = trainlet_session_feed_gradient(s, id, t->name, t->type, t->rank, t->dims);
    if (to) memset(to, 0, t->bytes);
  }
  if (input_below(&r->in, 4)) trainlet_session_backward(s, id, input_below(&r->in, 2) ? NULL : any_of(r, inputs, 3));
  else if (input_below(&r->in, 2)) trainlet_session_drop_forward(s, id);
}

static void compact(Run *r, TrainletSession *s) {
  size_t bytes;
  if (trainlet_session_compact(s, (TrainletWeights)input_below(&r->in, 3)) == STATUS_OK) {
    const void *file = trainlet_session_result(s, &bytes);
    hold_loads(TRAINLET_COMPACT, file, bytes);
  }
}

/* A value of the graph, mostly no output, with one class more; its new weights are zeros. */
static void extend(Run *r, TrainletSession *s) {
  const char *name = any_name(r, s);
  TrainletPart part = (TrainletPart)input_below(&r->in, 5);
  size_t bytes, most = 1;
  for (int i = 0; i < trainlet_session_parameter_count(s); i++) {
    size_t count = trainlet_session_parameter(s, i).count;
    most = count > most ? count : most;
  }
  float *zeros = calloc(most, sizeof *zeros);
  trainlet_session_output_layer(s, name);
  if (zeros && trainlet_session_extend(s, part, name, "", 1, zeros, zeros) == STATUS_OK) {
    const void *file = trainlet_session_result(s, &bytes);
    hold_loads(part, file, bytes);
  }
  free(zeros);
}

static void call_session(Run *r, int which) {
  TrainletSession *s = r->sessions[which];
  TrainletPart part;
  switch (input_below(&r->in, 30)) {
    case 0: load(r, s); break;
    case 1:
    case 2: load_whole(r, s); break;
    case 3: trainlet_session_ready(s); break;
    case 4: feed_wrong(r, s); break;
    case 5:
    case 6: feed(r, s); break;
    case 7:
      part = any_part(&r->in);
      trainlet_session_run(s, part, input_below(&r->in, 2) ? NULL : input_text(&r->in, r->text[0]));
      break;
    case 8:
    case 9: trainlet_session_step(s); break;
    case 10: trainlet_session_optimize(s); break;
    case 11: trainlet_session_reset_grad(s); break;
    case 12: copy_parameters(r, s); break;
    case 13: look(r, s); break;
    case 14: set_numbers(r, s); break;
    case 15: set_property(r, s); break;
    case 16: save(r, s); break;
    case 17: extend(r, s); break;
    case 18: stop_later(r, s); break;
    case 19: trainlet_session_drop_grad(s); break;
    case 20: keep_fit(r, s); break;
    case 21: trainlet_session_best(s, (TrainletBest)input_below(&r->in, 4)); break;
    case 22:
    case 23: set_training(r, s); break;
    case 24:
    case 25: features(r, s); break;
    case 26: halves(r, s); break;
    case 27: compact(r, s); break;
    case 28:
      if (input_below(&r->in, 2)) decode(r, s);
      else trainlet_session_input_gradient(s, any_part(&r->in), any_name(r, s));
      break;
    default: export(r, s);
  }
  hold_sentence(trainlet_session_error(s));
}

static void call(Run *r) {
  int which = input_below(&r->in, SESSIONS);
  switch (input_below(&r->in, 16)) {
    case 0:
      trainlet_artifacts_free(r->artifacts);
      r->artifacts = trainlet_artifacts_new();
      break;
    case 1:
      trainlet_session_free(r->sessions[which]);
      r->sessions[which] = trainlet_session_new();
      trainlet_session_limit(r->sessions[which], LIMIT_BYTES);
      break;
    case 2: trainlet_session_result_free(r->sessions[which]); break;
    case 3:
    case 4: change_artifacts(r); break;
    default: call_session(r, which);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static Run r;
  if (!blob_count) make_blobs();
  r.in = (Input){bytes, bytes + count};
  r.artifacts = trainlet_artifacts_new();
  for (int i = 0; i < SESSIONS; i++) trainlet_session_limit(r.sessions[i] = trainlet_session_new(), LIMIT_BYTES);
  for (int i = 0; i < CALLS_MAX && r.in.at < r.in.end; i++) call(&r);
  for (int i = 0; i < SESSIONS; i++) trainlet_session_free(r.sessions[i]);
  trainlet_artifacts_free(r.artifacts);
  return 0;
}
