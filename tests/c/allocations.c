/* Allocations: memory ends once at every place of a network's whole life. The call that meets it says so, does its work
 * when it is asked again, and in the end every byte is that of a life in which nothing failed. `test_allocations
 * --whole` tries every place; without it, a sample. `test_allocations NAME [n]` tries every place, or the n-th, of one
 * network.
 *
 *   pieces   what arenas cut from their chunks, and blocks
 *   chunks   what arenas and blocks take from malloc
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "json.h"
#include "opcase.h"
#include "passes/passes.h"
#include "session/session.h"
#include "graph/backward.h"
#include "ops/ops.h"

/* src/arena.c's and the sanitizer's, in builds for tests; elsewhere they are not there. */
extern long memory_countdown __attribute__((weak));
extern bool memory_counts_pieces __attribute__((weak));
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
static size_t held_bytes(void) {
  return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}
static void nothing(const void *argument) { test_note("this build's memory does not end where a test likes"); }

enum { RESULTS_MAX = 64, PARTS = TRAINLET_MODEL + 1, BATCH = 4, SAMPLE = 60 };
#define GOLDEN "tests/golden/data/"
#define ORT GOLDEN "ort/ort_testdata_ortformat/"

typedef struct Network {
  const char *name;
  const char *model, *loss, *optimizer; /* artifacts are made of the model */
  const char *parts[PARTS];             /* or these files are loaded */
  const char *location, *external;      /* external data */
  int refused;                          /* calls that say no in a life without failures, too */
  const char *outputs;
  const char *adapted; /* pattern of the modules that have LoRA's adapters, which alone train */
} Network;

static const Network networks[] = {
    {"mlp", GOLDEN "mlp_small.onnx", "cross-entropy", "adamw"},
    {"cnn", GOLDEN "cnn_bn.onnx", "cross-entropy", "adamw"},
    {"lstm", GOLDEN "recurrent.onnx", "cross-entropy", "sgd"},
    {"scan", GOLDEN "scanned.onnx", "cross-entropy", "adam"},
    {"lora_mlp", GOLDEN "mlp_small.onnx", "cross-entropy", "adamw", .adapted = "*"},
    {"lora_cnn", GOLDEN "lora/pictures.onnx", "cross-entropy", "sgd", .adapted = "*"},
    {"training_info", GOLDEN "training_info/adam.onnx", "training-info", NULL},
    {"ort_format",
     .parts = {ORT "training_model.ort", ORT "eval_model.ort", ORT "optimizer_model.ort", ORT "checkpoint"}},
    {"sequence", .parts = {[TRAINLET_MODEL] = GOLDEN "subgraphs/list.onnx"}},
    {"texts", .parts = {[TRAINLET_MODEL] = GOLDEN "subgraphs/fed_texts.onnx"}},
    {"if", .parts = {[TRAINLET_MODEL] = GOLDEN "subgraphs/fed_if.onnx"}},
    {"loop", .parts = {[TRAINLET_MODEL] = GOLDEN "subgraphs/fed_trips.onnx"}},
    {"while", .parts = {[TRAINLET_MODEL] = GOLDEN "subgraphs/fed_while.onnx"}},
    {"nested", .parts = {[TRAINLET_MODEL] = GOLDEN "subgraphs/nested.onnx"}},
    {"functions", .parts = {[TRAINLET_MODEL] = GOLDEN "functions/called.onnx"}},
    {"external", .parts = {[TRAINLET_MODEL] = GOLDEN "external/one_file.onnx"}, .location = "one_file.onnx.data",
     .external = GOLDEN "external/one_file.onnx.data"},
};

typedef struct File {
  const void *bytes;
  size_t count;
} File;

/* ---- a life ---- */

typedef struct Life {
  const Network *of;
  const File *files; /* parts, the model and the external file, by network */
  TrainletArtifacts *artifacts;
  TrainletSession *session, *resumed;
  File made[PARTS];
  void *saved;
  size_t saved_bytes;
  uint64_t results[RESULTS_MAX];
  const char *deeds[RESULTS_MAX];
  int count, refused, told;
  int step; /* arguments of the current deed */
  TrainletPart part;
  TrainletFormat format;
  TrainletExport form;
  const char *key, *value;
} Life;

typedef bool Deed(Life *l, Error *error);

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t count) { /* FNV-1a */
  for (size_t i = 0; i < count; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
  return h;
}

static void keep(Life *l, const void *bytes, size_t count) {
  l->results[l->count] = hash_bytes(l->results[l->count] * 31, bytes, count);
}

/* A call that failed without a failing allocation is as it must be: its sentence is a result. */
static void perform(Life *l, const char *name, Deed *deed) {
  bool armed = memory_countdown > 0;
  Error error = {0};
  l->deeds[l->count] = name;
  if (!deed(l, &error) && armed && memory_countdown == 0) {
    check(error.status == STATUS_OUT_OF_MEMORY && *error.text, "%s: it fails with %s: '%s'", name,
          status_code(error.status), error.text);
    error = (Error){0};
    l->told++;
    l->results[l->count] = 0;
    deed(l, &error);
  }
  if (error.status != STATUS_OK) keep(l, error.text, strlen(error.text)), l->refused++;
  if (l->count < RESULTS_MAX - 1) l->count++;
}

static bool told(Error *error, const Error *by, bool good) {
  if (good) return true;
  *error = *by;
  if (error->status == STATUS_OK) error->status = STATUS_INTERNAL;
  return false;
}

static bool absent(Error *error) { return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "NULL"), false; }

/* ---- artifacts ---- */

static bool open_artifacts(Life *l, Error *error) { return (l->artifacts = trainlet_artifacts_new()) || absent(error); }

static bool load_artifacts(Life *l, Error *error) {
  const File *model = &l->files[0];
  void *to = trainlet_artifacts_file(l->artifacts, model->count);
  if (to) memcpy(to, model->bytes, model->count);
  return told(error, trainlet_artifacts_error(l->artifacts),
              to && trainlet_artifacts_load(l->artifacts, to, model->count) == STATUS_OK);
}

static bool set_option(Life *l, Error *error) {
  return told(error, trainlet_artifacts_error(l->artifacts),
              trainlet_artifacts_set(l->artifacts, l->key, l->value) == STATUS_OK);
}

static void option(Life *l, const char *key, const char *value) {
  l->key = key;
  l->value = value;
  perform(l, key, set_option);
}

static bool build_artifacts(Life *l, Error *error) {
  if (strstr(trainlet_artifacts_error(l->artifacts)->text, "loaded again") && !load_artifacts(l, error)) return false;
  if (!told(error, trainlet_artifacts_error(l->artifacts), trainlet_artifacts_build(l->artifacts) == STATUS_OK))
    return false;
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    l->made[part].bytes = trainlet_artifacts_bytes(l->artifacts, (TrainletPart)part, &l->made[part].count);
    keep(l, l->made[part].bytes, l->made[part].count);
  }
  keep(l, trainlet_artifacts_warnings(l->artifacts), strlen(trainlet_artifacts_warnings(l->artifacts)));
  return true;
}

static bool list_parameters(Life *l, Error *error) {
  const char *text = trainlet_artifacts_parameters(l->artifacts);
  if (!told(error, trainlet_artifacts_error(l->artifacts), text)) return false;
  keep(l, text, strlen(text));
  return true;
}

static void make_parts(Life *l) {
  if (!l->of->model) {
    for (int part = 0; part < PARTS; part++) l->made[part] = l->files[part];
    return;
  }
  perform(l, "artifacts_new", open_artifacts);
  perform(l, "artifacts_load", load_artifacts);
  option(l, "loss.type", l->of->loss);
  if (l->of->optimizer) option(l, "optimizer.type", l->of->optimizer);
  if (l->of->adapted) option(l, "lora.targets", l->of->adapted), option(l, "lora.r", "2");
  else option(l, "requiresGrad", "*");
  if (strcmp(l->of->loss, "training-info")) option(l, "untie", "1");
  perform(l, "artifacts_parameters", list_parameters);
  perform(l, "artifacts_build", build_artifacts);
}

/* ---- sessions ---- */

static bool open_session(Life *l, Error *error) {
  if (!(l->session = trainlet_session_new())) return absent(error);
  trainlet_session_set_seed(l->session, 7);
  return true;
}

static bool add_external(Life *l, Error *error) {
  const File *file = &l->files[PARTS];
  void *to = trainlet_session_external(l->session, l->of->location, file->count);
  if (to) memcpy(to, file->bytes, file->count);
  return told(error, trainlet_session_error(l->session), to);
}

static bool load_part(Life *l, Error *error) {
  const File *file = &l->made[l->part];
  void *to = trainlet_session_file(l->session, file->count);
  if (to && file->count) memcpy(to, file->bytes, file->count);
  return told(error, trainlet_session_error(l->session),
              to && trainlet_session_load(l->session, l->part, to, file->count) == STATUS_OK);
}

/* Loads all of them into a new session, since one that could not be made ready is spent. */
static bool load_anew(Life *l, Error *error) {
  if (l->session) return true;
  if (!open_session(l, error) || (l->of->external && !add_external(l, error))) return false;
  for (int part = 0; part < PARTS; part++) {
    l->part = (TrainletPart)part;
    if (l->made[part].bytes && !load_part(l, error)) return false;
  }
  return true;
}

static bool make_ready(Life *l, Error *error) {
  if (!load_anew(l, error)) return false;
  if (told(error, trainlet_session_error(l->session), trainlet_session_ready(l->session) == STATUS_OK)) return true;
  Status again = trainlet_session_ready(l->session);
  check(again != STATUS_OK && strstr(trainlet_session_error(l->session)->text, "new one"),
        "a session that is spent says '%s'", trainlet_session_error(l->session)->text);
  trainlet_session_free(l->session);
  l->session = NULL;
  return false;
}

static bool describe(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session),
              trainlet_session_json(l->session) && trainlet_session_properties(l->session));
}

/* ---- feeding ---- */

static void fill(void *to, DType type, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) {
    if (type == DTYPE_FLOAT32) ((float *)to)[i] = 2 * batch_unit(seed, i) - 1;
    else if (type == DTYPE_INT64) ((int64_t *)to)[i] = batch_bits(seed, i) % 2;
    else ((uint8_t *)to)[i] = batch_bits(seed, i) % 2;
  }
}

static bool feed_one(TrainletSession *s, TrainletPart part, const char *name, DType type, const Shape *declared,
                     uint32_t seed) {
  Shape shape = *declared;
  if (shape.rank < 0) shape.rank = 0;
  for (int i = 0; i < shape.rank; i++)
    if (!dim_is_number(shape.dim[i])) shape.dim[i] = BATCH;
  size_t count = shape_elements(&shape), bytes = type == DTYPE_STRING ? 2 * count : 0;
  char *to = bytes ? trainlet_session_feed_text(s, part, name, shape.rank, shape.dim, bytes)
                   : trainlet_session_feed(s, part, name, (int)type, shape.rank, shape.dim);
  if (to && !bytes) fill(to, type, count, seed);
  for (size_t i = 0; to && i < bytes; i++) to[i] = i % 2 ? 0 : (char)('a' + i % 26);
  return to;
}

static bool feed_input(TrainletSession *s, TrainletPart part, const Value *v, uint32_t seed) {
  const Declared *d = v->declared;
  if (d && d->sequence && trainlet_session_feed_sequence(s, part, v->name, 2) != STATUS_OK) return false;
  for (int k = 0; k < (d && d->sequence ? 2 : 1); k++)
    if (!feed_one(s, part, v->name, d ? d->type : v->type, d ? &d->shape : &v->shape, seed + (uint32_t)k)) return false;
  return true;
}

static bool feed_all(TrainletSession *s, TrainletPart part, int step) {
  const Graph *g = s->models[part == TRAINLET_TRAIN  ? MODEL_TRAIN
                             : part == TRAINLET_EVAL ? MODEL_EVAL
                                                     : MODEL_INFERENCE]
                       .graph;
  for (int i = 0; i < g->input_count; i++)
    if (!feed_input(s, part, g->inputs[i], (uint32_t)(100 * step + i))) return false;
  return true;
}

/* ---- running ---- */

static void keep_outputs(Life *l, TrainletSession *s) {
  for (int i = 0; i < trainlet_session_output_count(s); i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    keep(l, &t->rank, sizeof t->rank);
    if (t->rank > 0) keep(l, t->dims, (size_t)t->rank * sizeof *t->dims);
    for (size_t k = 0; t->type == DTYPE_STRING && t->rank >= 0 && k < t->count; k++)
      keep(l, ((const char *const *)t->data)[k], strlen(((const char *const *)t->data)[k]));
    if (t->type != DTYPE_STRING && t->bytes) keep(l, t->data, t->bytes);
  }
}

static bool train(Life *l, Error *error) {
  TrainletSession *s = l->resumed ? l->resumed : l->session;
  if (!told(error, trainlet_session_error(s),
            feed_all(s, TRAINLET_TRAIN, l->step) && trainlet_session_step(s) == STATUS_OK))
    return false;
  double loss = trainlet_session_loss(s);
  keep(l, &loss, sizeof loss);
  keep_outputs(l, s);
  return true;
}

static bool run(Life *l, Error *error) {
  if (!told(error, trainlet_session_error(l->session),
            feed_all(l->session, l->part, l->step) && trainlet_session_run(l->session, l->part, l->value) == STATUS_OK))
    return false;
  keep_outputs(l, l->session);
  return true;
}

static void perform_run(Life *l, TrainletPart part, const char *fetches) {
  l->part = part;
  l->value = fetches;
  perform(l, fetches ? "run with fetches" : "run", run);
}

static bool set_text(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session),
              trainlet_session_property_set_string(l->session, l->key, l->value) == STATUS_OK);
}
static bool set_fit(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session), trainlet_session_set_fit(l->session, l->value) == STATUS_OK);
}
static bool keep_best(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session),
              trainlet_session_best(l->session, TRAINLET_BEST_KEEP) == STATUS_OK);
}
static bool set_int(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session),
              trainlet_session_property_set_int(l->session, l->key, 5) == STATUS_OK);
}

static void property(Life *l, const char *key, const char *value) {
  l->key = key;
  l->value = value;
  perform(l, "property", value ? set_text : set_int);
}

/* ---- files ---- */

static bool take_result(Life *l) {
  size_t bytes;
  const void *result = trainlet_session_result(l->session, &bytes);
  keep(l, result, bytes);
  return check(result && bytes, "there is no file") && bytes;
}

static bool save(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session),
              trainlet_session_save(l->session, true, l->format) == STATUS_OK) &&
         take_result(l);
}

static bool export(Life *l, Error *error) {
  return told(error, trainlet_session_error(l->session),
              trainlet_session_export(l->session, NULL, l->form) == STATUS_OK) &&
         take_result(l);
}

static bool resume(Life *l, Error *error) {
  TrainletSession *s = trainlet_session_new();
  if (!s) return absent(error);
  bool good = true;
  for (int part = TRAINLET_TRAIN; good && part <= TRAINLET_CHECKPOINT; part++) {
    File file = part == TRAINLET_CHECKPOINT ? (File){l->saved, l->saved_bytes} : l->made[part];
    good = trainlet_session_load(s, (TrainletPart)part, file.bytes, file.count) == STATUS_OK;
  }
  if (good && trainlet_session_ready(s) == STATUS_OK) return l->resumed = s, true;
  told(error, trainlet_session_error(s), false);
  trainlet_session_free(s);
  return false;
}

static void save_and_resume(Life *l) {
  for (int format = TRAINLET_FORMAT_ORT_2; format >= TRAINLET_FORMAT_TRAINLET; format--)
    l->format = (TrainletFormat)format, perform(l, "save", save);
  const void *result = trainlet_session_result(l->session, &l->saved_bytes);
  l->saved = malloc(l->saved_bytes + 1);
  memcpy(l->saved, result, l->saved_bytes);
  static const TrainletExport forms[] = {TRAINLET_EXPORT_MODEL, TRAINLET_EXPORT_TRAINING_INFO, TRAINLET_EXPORT_MERGED,
                                         TRAINLET_EXPORT_ADAPTER_INPUTS};
  for (int i = 0; i < (l->of->adapted ? 4 : 2); i++) l->form = forms[i], perform(l, "export", export);
  perform(l, "resume", resume);
  if (l->resumed) l->step = 2, perform(l, "step after resuming", train);
}

static bool choose(Life *l, Error *error) {
  if (!told(error, trainlet_session_error(l->session),
            trainlet_session_set_trainable(l->session, l->value) == STATUS_OK))
    return false;
  for (int i = 0; i < trainlet_session_parameter_count(l->session); i++)
    keep(l, &(uint8_t){trainlet_session_parameter_trainable(l->session, i)}, 1);
  return true;
}

static bool want_gradient(Life *l, Error *error) {
  bool good = trainlet_session_input_gradient(l->session, TRAINLET_TRAIN, l->value) == STATUS_OK;
  return told(error, trainlet_session_error(l->session), good);
}

/* One parameter trains, then all; gradients towards an input are wanted of the graph of either choice. */
static void choose_others(Life *l) {
  const char *one = NULL, *input = NULL;
  for (int i = 0; i < trainlet_session_parameter_count(l->session); i++)
    if (trainlet_session_parameter_trainable(l->session, i)) one = trainlet_session_parameter(l->session, i).name;
  const Graph *g = l->session->models[MODEL_TRAIN].graph;
  for (int i = 0; i < g->input_count && !input; i++)
    if (g->inputs[i]->kind == VALUE_INPUT && g->inputs[i]->type == DTYPE_FLOAT32) input = g->inputs[i]->name;
  for (int i = 0; i < 2 && one; i++) {
    l->value = i ? "*" : one;
    perform(l, "set_trainable", choose);
    perform(l, "step of others", train);
    if (!input) continue;
    l->value = input;
    perform(l, "input_gradient", want_gradient);
    char name[64];
    snprintf(name, sizeof name, "%s_grad", input);
    perform_run(l, TRAINLET_TRAIN, name);
    perform_run(l, TRAINLET_TRAIN, NULL);
  }
}

static void open_parts(Life *l) {
  perform(l, "session_new", open_session);
  if (l->of->external) perform(l, "external", add_external);
  for (int part = 0; part < PARTS; part++) {
    l->part = (TrainletPart)part;
    if (l->made[part].bytes) perform(l, "load", load_part);
  }
  perform(l, "ready", make_ready);
}

static void live(Life *l) {
  make_parts(l);
  open_parts(l);
  if (!l->session) return;
  perform(l, "json", describe);
  for (l->step = 0; l->step < 2 && l->made[TRAINLET_TRAIN].bytes; l->step++) perform(l, "step", train);
  TrainletPart part = l->made[TRAINLET_MODEL].bytes ? TRAINLET_MODEL : TRAINLET_EVAL;
  perform_run(l, part, NULL);
  perform_run(l, part,
              l->session->models[part == TRAINLET_EVAL ? MODEL_EVAL : MODEL_INFERENCE].graph->outputs[0]->name);
  perform_run(l, part, NULL);
  if (!l->made[TRAINLET_TRAIN].bytes) return;
  property(l, "title", "one"), property(l, "count", NULL), property(l, "title", "another");
  perform(l, "fit", set_fit), perform(l, "best", keep_best);
  save_and_resume(l);
  if (l->session) choose_others(l);
}

static void end(Life *l) {
  trainlet_session_free(l->resumed);
  trainlet_session_free(l->session);
  trainlet_artifacts_free(l->artifacts);
  free(l->saved);
}

/* ---- all lives ---- */

static bool whole;
static long only; /* this place alone */

static void compare(const Life *l, const Life *reference, long n) {
  bool same = l->count == reference->count;
  for (int i = 0; same && i < l->count; i++)
    same = check(l->results[i] == reference->results[i],
                 "n = %ld: '%s' (%d) gives something else than without a failure", n, l->deeds[i], i);
  check(l->count == reference->count, "n = %ld: %d calls instead of %d, the last is '%s'", n, l->count,
        reference->count, l->deeds[l->count - 1]);
}

/* Memory ends at the n-th place; gives how many there were. */
static long try_one(const Network *of, const File *files, long n, const Life *reference, Life *out) {
  Life l = {.of = of, .files = files};
  memory_countdown = n;
  live(&l);
  long left = memory_countdown;
  memory_countdown = 0;
  if (reference) compare(&l, reference, n);
  end(&l);
  if (out) *out = l;
  return n - left;
}

static void read_files(const Network *of, Arena *arena, File files[PARTS + 1]) {
  for (int i = 0; i <= PARTS; i++) {
    const char *path = i == PARTS ? of->external : of->model && i == 0 ? of->model : of->parts[i];
    if (path) files[i].bytes = file_read(arena, path, &files[i].count);
    check(!path || files[i].bytes, "%s cannot be read", path);
  }
}

static void memory_ends(const void *argument) {
  const Network *of = argument;
  Arena arena = {0};
  File files[PARTS + 1] = {{0}};
  Life reference;
  read_files(of, &arena, files);
  try_one(of, files, LONG_MAX, NULL, NULL); /* libraries now hold theirs */
  size_t held = held_bytes();
  long places = try_one(of, files, LONG_MAX, NULL, &reference), tried = 0, told = 0;
  for (int i = 0; i < reference.count && only < 0; i++) printf("  %d %s\n", i, reference.deeds[i]);
  check(reference.refused == of->refused, "%d calls are refused, not %d", reference.refused, of->refused);
  long stride = whole || places <= SAMPLE ? 1 : places / SAMPLE;
  for (long n = 1; n <= places; n += 1 + (stride > 1 ? (long)batch_bits((uint32_t)n, 3) % (2 * stride - 1) : 0)) {
    if (only > 0) n = only;
    if (getenv("TRAINLET_LOUD")) fprintf(stderr, "%s n = %ld\n", of->name, n);
    Life l;
    try_one(of, files, n, &reference, &l);
    tried++;
    told += l.told;
    size_t now = held_bytes();
    if (!check(now == held, "n = %ld: %zu bytes are held after it, %zu before", n, now, held)) held = now;
    if (only > 0) break;
  }
  test_note("%ld of %ld places, %ld told, the others done without", tried, places, told);
  arena_free(&arena);
}

/* ---- operators: each case's graph, gradient, passes and plan ---- */

static void differentiate(const OpCase *c, Graph *g) {
  Value *wrt[OPCASE_INPUTS], *grads[OPCASE_INPUTS] = {0}, *y = opcase_output(g, 0);
  int count = 0;
  for (int i = 0; i < c->in_count; i++)
    if (!c->in[i].absent && !c->in[i].constant && c->in[i].type == DTYPE_FLOAT32) wrt[count++] = opcase_value(g, i);
  if (c->text->no_grad || !count || !y || y->type != DTYPE_FLOAT32) return;
  Value *dy = graph_value(g, "dy", DTYPE_FLOAT32, &y->shape, VALUE_INPUT);
  if (!dy || backward(g, y, dy, wrt, count, grads) != STATUS_OK) return;
  for (int i = 0; i < count; i++)
    if (grads[i]) graph_add_output(g, grads[i]);
}

static long places_of(const OpCase *c, long n, Status *status) {
  Arena arena = {0}, bound = {0};
  Budget budget = {0};
  Error error = {0};
  Program program;
  budget_enter(&budget, &error);
  memory_countdown = n;
  Graph *g = opcase_build(c, &arena, &error, SYMBOLS_NONE);
  if (g) differentiate(c, g);
  Graph *clone = g && error.status == STATUS_OK ? graph_clone(g, &bound, &error, NULL, g->outputs, g->output_count)
                                                : NULL;
  if (clone && passes_run(clone, PASSES_ALL) == STATUS_OK) plan(clone, false, &program);
  long left = memory_countdown;
  memory_countdown = 0;
  *status = budget_leave(&budget, &error, error.status == STATUS_OK);
  check(left || (*status == STATUS_OUT_OF_MEMORY && *error.text), "%s: n = %ld: %s '%s'", c->key, n,
        status_code(*status), error.text);
  arena_free(&bound);
  arena_free(&arena);
  return n - left;
}

static void memory_ends_in_an_operator(const void *argument) {
  const Op *op = argument;
  long tried = 0;
  memory_counts_pieces = true;
  for (const Case *text = op->cases; text && text->in; text++) {
    OpCase c;
    Status status;
    if (check(opcase_parse(op, text, &c), "%s: %s", c.key, c.problem)) {
      long places = places_of(&c, LONG_MAX, &status), stride = whole || places < 40 ? 1 : places / 40;
      for (long n = 1 + (long)batch_bits((uint32_t)tried, 0) % stride; n <= places; n += stride, tried++) {
        if (getenv("TRAINLET_LOUD")) fprintf(stderr, "%s n = %ld\n", c.key, n);
        places_of(&c, n, &status);
      }
    }
    opcase_free(&c);
  }
  test_note("%ld places", tried);
}

int main(int count, char **arguments) {
  whole = count > 1;
  const char *name = count > 1 && strcmp(arguments[1], "--whole") != 0 ? arguments[1] : NULL;
  if (count > 2) only = atol(arguments[2]);
  if (!&memory_countdown) return TEST(nothing), test_finish();
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
    for (int pieces = 0; pieces < 2; pieces++) {
      char title[100];
      if (name && strcmp(name, networks[i].name) != 0) continue;
      memory_counts_pieces = pieces;
      snprintf(title, sizeof title, "memory ends at a %s of %s", pieces ? "piece" : "chunk", networks[i].name);
      test_run(title, memory_ends, &networks[i]);
    }
  for (int i = 0; op_at(i); i++)
    if (!name || strcmp(name, op_at(i)->name) == 0) test_run(op_at(i)->name, memory_ends_in_an_operator, op_at(i));
  return test_finish();
}
