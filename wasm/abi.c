/* Every export of the wasm file and nothing else. wasm/README.md lists them, from the comments here or, if an export
 * has none, from the comment of the function of trainlet.h that it calls: npm run docs:exports. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "arena.h"
#include "checkpoint/checkpoint.h"
#include "graph/op.h"
#include "kernels/gemm.h"
#include "passes/passes.h"
#include "part.h"
#include "memory.h"
#include "shape.h"
#include "threads.h"
#include "trainlet.h"
#include "text_builder.h"
#include "variant.h"

#ifdef TRAINLET_CALLS /* wasm/keep.cmake: a header with `#define LEFT_OUT_abi_session_export a,` for each that goes */
#include TRAINLET_CALLS
#define EXPORT(name) EXPORT_OF(LEFT_OUT_##name __attribute__((unused)), __attribute__((export_name(#name))), )
#define EXPORT_OF(...) EXPORT_SECOND(__VA_ARGS__)
#define EXPORT_SECOND(first, second, ...) second extern
#else
#define EXPORT(name) __attribute__((export_name(#name))) extern
#endif

static Error last_error;

static Status keep(const Error *error) {
  last_error = *error;
  return last_error.status;
}
static Status session_status(TrainletSession *s) { return keep(trainlet_session_error(s)); }

/* The last error: its number among the `codes` of abi_json, its sentence, and the node that it names ("" if none). A
 * function that returns a pointer reports an error by 0. */
EXPORT(abi_error_code) Status abi_error_code(void) { return last_error.status; }
EXPORT(abi_error_message) const char *abi_error_message(void) { return last_error.text; }
EXPORT(abi_error_node) const char *abi_error_node(void) { return last_error.node; }

/* ---- constants: what JavaScript would otherwise know a second time ---- */

static void put_types(TextBuilder *p) {
  const char *before = "";
  for (int type = 1; type <= DTYPE_LAST; type++) {
    const char *name = dtype_name((DType)type);
    if (strcmp(name, "unknown") == 0) continue;
    text_print(p, "%s\"%s\":{\"id\":%d,\"bytes\":%zu}", before, name, type, dtype_bytes((DType)type));
    before = ",";
  }
}

static void put_names(TextBuilder *p, const char *(*name)(int i)) {
  for (int i = 0; name(i); i++) text_put(p, i ? "," : ""), text_string(p, name(i));
}

typedef struct Field {
  const char *name;
  int64_t is;
} Field;

/* ,"key":{"name":number, …} */
static void put_fields(TextBuilder *p, const char *key, const Field *fields, int count) {
  text_put(p, ","), text_key(p, key), text_put(p, "{");
  for (int i = 0; i < count; i++) text_field(p, fields[i].name, fields[i].is);
  text_put(p, "}");
}
#define PUT_FIELDS(p, key, ...)                                                                                        \
  put_fields(p, key, (const Field[]){__VA_ARGS__}, (int)(sizeof((const Field[]){__VA_ARGS__}) / sizeof(Field)))

static const char *code_name(int i) { return i < STATUS_COUNT ? status_code((Status)i) : NULL; }

static void put_constants(TextBuilder *p) {
  text_print(p, "{\"version\":\"%s\",\"codes\":[", TRAINLET_VERSION), put_names(p, code_name);
  text_put(p, "],\"passes\":["), put_names(p, trainlet_pass_name);
  text_put(p, "],\"losses\":["), put_names(p, trainlet_loss_name);
  text_put(p, "],\"optimizers\":["), put_names(p, trainlet_optimizer_name);
  text_put(p, "],\"types\":{"), put_types(p), text_put(p, "}");
  PUT_FIELDS(p, "artifacts", {"train", TRAINLET_TRAIN}, {"eval", TRAINLET_EVAL}, {"optimizer", TRAINLET_OPTIMIZER},
             {"checkpoint", TRAINLET_CHECKPOINT}, {"model", TRAINLET_MODEL}, {"compact", TRAINLET_COMPACT},
             {"adapter", TRAINLET_ADAPTERS});
  PUT_FIELDS(p, "formats", {"trainlet", TRAINLET_FORMAT_TRAINLET}, {"ort1", TRAINLET_FORMAT_ORT_1},
             {"ort2", TRAINLET_FORMAT_ORT_2}, {"adapters", TRAINLET_FORMAT_ADAPTERS});
  PUT_FIELDS(p, "weights", {"exact", TRAINLET_WEIGHTS_EXACT}, {"float16", TRAINLET_WEIGHTS_FLOAT16},
             {"int8", TRAINLET_WEIGHTS_INT8});
  PUT_FIELDS(p, "which", {"all", TRAINLET_ALL}, {"trainable", TRAINLET_TRAINABLE},
             {"with-statistics", TRAINLET_WITH_STATISTICS});
  PUT_FIELDS(p, "best", {"forget", TRAINLET_BEST_FORGET}, {"keep", TRAINLET_BEST_KEEP},
             {"restore", TRAINLET_BEST_RESTORE});
  PUT_FIELDS(p, "limits", {"propertyName", PROPERTY_NAME_MAX}, {"propertyText", PROPERTY_TEXT_MAX});
  PUT_FIELDS(p, "ranks", {"sequence", TRAINLET_SEQUENCE}, {"nothing", TRAINLET_NOTHING});
  PUT_FIELDS(p, "tensor", {"name", offsetof(TrainletTensor, name)}, {"type", offsetof(TrainletTensor, type)},
             {"rank", offsetof(TrainletTensor, rank)}, {"dims", offsetof(TrainletTensor, dims)},
             {"data", offsetof(TrainletTensor, data)}, {"count", offsetof(TrainletTensor, count)},
             {"counted", offsetof(TrainletTensor, counted)}, {"isSum", offsetof(TrainletTensor, is_sum)});
  text_field(p, "positions", POSITION_COUNT);
  text_put(p, ","), text_key(p, "shrunkFor"), text_string(p, is_shrunk() ? shrunk_for : "");
  text_put(p, "}");
}

/* Constants as JSON: `version`; `codes` of errors; `types` of elements with id and bytes; `passes`, `losses`,
 * `optimizers`; the numbers of `artifacts`, `formats`, `weights`, `which` and `best`; `limits` of properties in bytes
 * of UTF-8; `ranks` of outputs that are not tensors; `tensor`, the offset of each field of a TrainletTensor;
 * `positions`, how many numbers a data position has; `shrunkFor`, what the build was shrunk for ("": it has
 * everything). 0 when memory is out. */
EXPORT(abi_json) const char *abi_json(void) {
  static Arena arena;
  error_clear(&last_error);
  arena_free(&arena);
  TextBuilder p = text_new(&arena);
  put_constants(&p);
  if (!p.text) error_memory(&last_error, "for the engine's constants");
  return p.text;
}

/* Operators that graphs of this instance have had, passes that have changed one and variants that ran, one a line
 * (`operator DOMAIN.NAME`, `pass NAME`, `feature NAME`): a build for just these must keep them. 0 when memory is out.
 * */
EXPORT(abi_seen) const char *abi_seen(void) {
  static Arena arena;
  error_clear(&last_error);
  arena_free(&arena);
  TextBuilder p = text_new(&arena);
  op_print_seen(&p);
  for (int i = 0; trainlet_pass_name(i); i++)
    if (passes_seen() >> i & 1) text_print(&p, "pass %s\n", trainlet_pass_name(i));
  for (int i = 0; i < VARIANT_COUNT; i++)
    if (variants_seen >> i & 1) text_print(&p, "feature %s\n", variant_name(i));
  if (!p.text) error_memory(&last_error, "for what graphs have had");
  return p.text;
}

/* Memory for the caller's own bytes, aligned to 16. 0 when memory is out. */
EXPORT(abi_alloc) void *abi_alloc(size_t bytes) {
  void *block = memory_take(bytes, LASTS);
  error_clear(&last_error);
  if (!block) ERROR_MEMORY(&last_error, "for %zu bytes of input or output", bytes);
  return block;
}
/* Frees what abi_alloc returned. */
EXPORT(abi_free) void abi_free(void *p) { memory_give(p); }

/* ---- threads: in the build with shared memory; each thread has an instance of the module, a stack and its own
 * variables ---- */

/* Firefox calls this once, before anything is loaded. On an x86 its compiler keeps nine sums of a tile in the sixteen
 * registers and the sums of a fifth and sixth row in memory, so tiles of four rows make products 1.7 times as fast,
 * with the same bits. On an x86 the NaN of ∞ - ∞ is negative; other processors have registers for all rows. */
EXPORT(abi_spidermonkey) void abi_spidermonkey(void) {
  volatile float infinity = INFINITY;
  if (signbit(infinity - infinity)) gemm_set_rows(4);
}

#if defined(__wasm_atomics__)
enum { OWN_BYTES = 64, STACK_BYTES = 64 * 1024 - OWN_BYTES };

typedef struct ThreadMemory {
  _Alignas(16) char own[OWN_BYTES]; /* _Thread_local variables */
  _Alignas(16) char stack[STACK_BYTES];
} ThreadMemory;

void __wasm_init_tls(void *own); /* the linker's: makes `own` this instance's _Thread_local variables */

static ThreadMemory *threads;

/* The engine's own instance calls this once, before anything is loaded. Returns how many threads there will be,
 * itself among them (1 when there is no room). `may_sleep`: this thread may use `memory.atomic.wait`. */
EXPORT(abi_threads) int abi_threads(int count, int may_sleep) {
  if (count > THREADS_MAX) count = THREADS_MAX;
  threads = memory_take((size_t)count * sizeof *threads, LASTS);
  if (!threads || __builtin_wasm_tls_size() > OWN_BYTES || !threads_begin(count, may_sleep != 0)) return 1;
  __wasm_init_tls(threads[0].own); /* this thread has the module's stack */
  return count;
}
/* In a helper's instance: the value for its `__stack_pointer`, to be set before it calls anything else. */
EXPORT(abi_thread_stack) void *abi_thread_stack(int thread) { return threads[thread].stack + STACK_BYTES; }
/* Joins the pool as thread 1 … count - 1 and does not return. A helper that comes late or never only makes steps
 * slower. */
EXPORT(abi_thread_help) void abi_thread_help(int thread) {
  __wasm_init_tls(threads[thread].own);
  threads_help(thread);
}
/* A helper's abi_thread_help trapped: the engine's instance traps too, instead of waiting for it. */
EXPORT(abi_thread_break) void abi_thread_break(void) { threads_break(); }
#endif

/* ---- artifacts ---- */

EXPORT(abi_artifacts_new) TrainletArtifacts *abi_artifacts_new(void) {
  error_clear(&last_error);
  TrainletArtifacts *a = trainlet_artifacts_new();
  if (!a) error_memory(&last_error, "for the model");
  return a;
}
EXPORT(abi_artifacts_external) void *abi_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes) {
  void *to = trainlet_artifacts_external(a, location, bytes);
  keep(trainlet_artifacts_error(a));
  return to;
}
EXPORT(abi_artifacts_pieces) const char *abi_artifacts_pieces(TrainletArtifacts *a, const void *model, size_t bytes) {
  const char *text = trainlet_artifacts_pieces(a, model, bytes);
  keep(trainlet_artifacts_error(a));
  return text;
}
EXPORT(abi_artifacts_piece) void *abi_artifacts_piece(TrainletArtifacts *a, int i) {
  void *to = trainlet_artifacts_piece(a, i);
  keep(trainlet_artifacts_error(a));
  return to;
}
EXPORT(abi_artifacts_weight) void *abi_artifacts_weight(TrainletArtifacts *a, const char *name, size_t bytes) {
  void *to = trainlet_artifacts_weight(a, name, bytes);
  keep(trainlet_artifacts_error(a));
  return to;
}
EXPORT(abi_artifacts_constant)
void *abi_artifacts_constant(TrainletArtifacts *a, const char *name, int type, int rank, const int64_t *dims) {
  void *to = trainlet_artifacts_constant(a, name, type, rank, dims);
  keep(trainlet_artifacts_error(a));
  return to;
}
EXPORT(abi_artifacts_file) void *abi_artifacts_file(TrainletArtifacts *a, size_t bytes) {
  void *to = trainlet_artifacts_file(a, bytes);
  keep(trainlet_artifacts_error(a));
  return to;
}
EXPORT(abi_artifacts_load) Status abi_artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes) {
  trainlet_artifacts_load(a, model, bytes);
  return keep(trainlet_artifacts_error(a));
}
EXPORT(abi_artifacts_set) Status abi_artifacts_set(TrainletArtifacts *a, const char *key, const char *value) {
  trainlet_artifacts_set(a, key, value);
  return keep(trainlet_artifacts_error(a));
}
EXPORT(abi_artifacts_parameters) const char *abi_artifacts_parameters(TrainletArtifacts *a) {
  const char *text = trainlet_artifacts_parameters(a);
  keep(trainlet_artifacts_error(a));
  return text;
}
EXPORT(abi_artifacts_modules) const char *abi_artifacts_modules(TrainletArtifacts *a) {
  const char *text = trainlet_artifacts_modules(a);
  keep(trainlet_artifacts_error(a));
  return text;
}
EXPORT(abi_artifacts_build) Status abi_artifacts_build(TrainletArtifacts *a) {
  trainlet_artifacts_build(a);
  return keep(trainlet_artifacts_error(a));
}
/* The bytes of an artifact and their number, after build: `which` is one of `artifacts` 0 to 3. They belong to `a`.
 * */
EXPORT(abi_artifacts_bytes) const void *abi_artifacts_bytes(TrainletArtifacts *a, int which) {
  size_t bytes;
  return trainlet_artifacts_bytes(a, (TrainletPart)which, &bytes);
}
EXPORT(abi_artifacts_length) size_t abi_artifacts_length(TrainletArtifacts *a, int which) {
  size_t bytes;
  trainlet_artifacts_bytes(a, (TrainletPart)which, &bytes);
  return bytes;
}
EXPORT(abi_artifacts_warnings) const char *abi_artifacts_warnings(TrainletArtifacts *a) {
  return trainlet_artifacts_warnings(a);
}
EXPORT(abi_artifacts_free) void abi_artifacts_free(TrainletArtifacts *a) { trainlet_artifacts_free(a); }

/* ---- sessions ---- */

__attribute__((import_module("env"), import_name("stopped"))) int stopped(void);
static bool is_stopped(void *context) { return stopped() != 0; }

EXPORT(abi_session_new) TrainletSession *abi_session_new(void) {
  error_clear(&last_error);
  TrainletSession *s = trainlet_session_new();
  if (s) trainlet_session_stop_when(s, is_stopped, NULL);
  else error_memory(&last_error, "for a session");
  return s;
}
EXPORT(abi_session_free) void abi_session_free(TrainletSession *s) { trainlet_session_free(s); }
EXPORT(abi_session_limit_work) void abi_session_limit_work(TrainletSession *s, double work) {
  trainlet_session_limit_work(s, work);
}
EXPORT(abi_session_limit) void abi_session_limit(TrainletSession *s, double bytes) { trainlet_session_limit(s, bytes); }
EXPORT(abi_session_set_passes) void abi_session_set_passes(TrainletSession *s, unsigned mask) {
  trainlet_session_set_passes(s, mask);
}
EXPORT(abi_session_external) void *abi_session_external(TrainletSession *s, const char *location, size_t bytes) {
  void *to = trainlet_session_external(s, location, bytes);
  session_status(s);
  return to;
}
EXPORT(abi_session_constant)
void *abi_session_constant(TrainletSession *s, const char *name, int type, int rank, const int64_t *dims) {
  void *to = trainlet_session_constant(s, name, type, rank, dims);
  session_status(s);
  return to;
}
EXPORT(abi_session_file) void *abi_session_file(TrainletSession *s, size_t bytes) {
  void *to = trainlet_session_file(s, bytes);
  session_status(s);
  return to;
}
EXPORT(abi_session_load) Status abi_session_load(TrainletSession *s, int which, const void *bytes, size_t count) {
  trainlet_session_load(s, (TrainletPart)which, bytes, count);
  return session_status(s);
}
EXPORT(abi_session_ready) Status abi_session_ready(TrainletSession *s) {
  return trainlet_session_ready(s), session_status(s);
}
/* JSON: `train`, `eval` and `model` (null if absent), `parameters` ({"name", "type", "dims", "trainable", "bytes"}),
 * `optimizer` ({"type"} or null), `predict` (the outputs of predict), `outside` (of an external loss: `outputs` that
 * take a gradient, `inputs` that gradients are given towards; else null), `adapters` ({"names", "active"}), `adapted`
 * (indices of the parameters of which each adapter has its own values), `memory` ({"stateBytes", "arenaBytes",
 * "packedBytes", "peakBytes", "lowerBoundBytes", "takenBytes"}). A graph has `inputs`, `outputs`, `crossEntropy` (the
 * first output compares scores with labels) and `losses` ({"name", "weight"}, of a weighted sum). An input has
 * `name`, `type` and `dims` (numbers or symbols); a sequence or optional also `"sequence": true` or `"optional":
 * true`; labels also `"labels": {"classes", "axis", "ignoreIndex"}`; a loss's weights `"sampleWeight": true`. Valid
 * until the next call. */
EXPORT(abi_session_json) const char *abi_session_json(TrainletSession *s) {
  const char *text = trainlet_session_json(s);
  session_status(s);
  return text;
}

__attribute__((import_module("env"), import_name("now"))) double now(void);
static double clock_now(void *context) { return now(); }

EXPORT(abi_session_graph) const char *abi_session_graph(TrainletSession *s, int which) {
  const char *text = trainlet_session_graph(s, (TrainletPart)which);
  session_status(s);
  return text;
}
/* Times the nodes of the following runs if `on` is not 0, and forgets earlier times. */
EXPORT(abi_session_time_nodes) void abi_session_time_nodes(TrainletSession *s, int on) {
  trainlet_session_time_nodes(s, on ? clock_now : NULL, NULL);
}
EXPORT(abi_session_node_times) const char *abi_session_node_times(TrainletSession *s, int which) {
  const char *text = trainlet_session_node_times(s, (TrainletPart)which);
  session_status(s);
  return text;
}

/* Checks the name, type and shape of an input of graph `which` (0 train, 1 eval, 4 model), `dims` being rank × int64,
 * and returns where the caller writes its bytes before the run. The buffer belongs to the session; the next feed of
 * that name uses it again. */
EXPORT(abi_session_feed)
void *abi_session_feed(TrainletSession *s, int which, const char *name, int type, int rank, const int64_t *dims) {
  void *to = trainlet_session_feed(s, (TrainletPart)which, name, type, rank, dims);
  session_status(s);
  return to;
}
EXPORT(abi_session_feed_text)
void *abi_session_feed_text(TrainletSession *s, int which, const char *name, int rank, const int64_t *dims,
                            size_t bytes) {
  void *to = trainlet_session_feed_text(s, (TrainletPart)which, name, rank, dims, bytes);
  session_status(s);
  return to;
}
EXPORT(abi_session_feed_sequence)
Status abi_session_feed_sequence(TrainletSession *s, int which, const char *name, int count) {
  return trainlet_session_feed_sequence(s, (TrainletPart)which, name, count), session_status(s);
}
EXPORT(abi_session_input_gradient)
Status abi_session_input_gradient(TrainletSession *s, int which, const char *input) {
  return trainlet_session_input_gradient(s, (TrainletPart)which, input), session_status(s);
}
EXPORT(abi_session_features) const char *abi_session_features(TrainletSession *s) {
  const char *text = trainlet_session_features(s);
  session_status(s);
  return text;
}
EXPORT(abi_session_run_features) Status abi_session_run_features(TrainletSession *s) {
  trainlet_session_run_features(s);
  return session_status(s);
}
/* Runs a graph on what was fed: 0 for a train step, 1 for an eval step and predict, 4 for inference. `fetches`:
 * names, one a line; ptr 0: the graph's own outputs. Inputs that the fetches do not need may be missing. */
EXPORT(abi_session_run) Status abi_session_run(TrainletSession *s, int which, const char *fetches) {
  trainlet_session_run(s, (TrainletPart)which, fetches);
  return session_status(s);
}
/* Runs graph 1 or 4 for the next token of a language model. The only output is one row of the first fetch, the scores
 * (…, V): the row `from_end` before the last. The other fetches are kept for the inputs named in `past` (one a line):
 * the last `length` along `axis`, with zeros before them if there are fewer. If `goes_on`, these inputs are fed what
 * the last decode kept. */
EXPORT(abi_session_decode)
Status abi_session_decode(TrainletSession *s, int which, const char *fetches, int from_end, const char *past, int axis,
                          int length, int goes_on) {
  const TrainletDecode d = {fetches, past, from_end, axis, length, goes_on != 0};
  return trainlet_session_decode(s, (TrainletPart)which, &d), session_status(s);
}
/* The number of outputs of the last run; the tensors of a sequence count. */
EXPORT(abi_session_output_count) int abi_session_output_count(TrainletSession *s) {
  return trainlet_session_output_count(s);
}
/* The i-th output of the last run: a pointer to a TrainletTensor, whose fields lie at the offsets in `tensor` of
 * abi_json. Valid until the next run. The tensors of a sequence follow it as outputs. */
EXPORT(abi_session_output) const TrainletTensor *abi_session_output(TrainletSession *s, int i) {
  return trainlet_session_output(s, i);
}
EXPORT(abi_session_step) Status abi_session_step(TrainletSession *s) {
  return trainlet_session_step(s), session_status(s);
}
/* The loss of the last train run or step. */
EXPORT(abi_session_loss) double abi_session_loss(TrainletSession *s) { return trainlet_session_loss(s); }
EXPORT(abi_session_gradient_norm) double abi_session_gradient_norm(TrainletSession *s) {
  return trainlet_session_gradient_norm(s);
}
EXPORT(abi_session_optimize) Status abi_session_optimize(TrainletSession *s) {
  return trainlet_session_optimize(s), session_status(s);
}
EXPORT(abi_session_drop_grad) void abi_session_drop_grad(TrainletSession *s) { trainlet_session_drop_grad(s); }
EXPORT(abi_session_reset_grad) void abi_session_reset_grad(TrainletSession *s) { trainlet_session_reset_grad(s); }

/* A train run that a device computes (js/gpu): JSON about it; ptr 0 on failure. `anew`: it is the first of a step. */
EXPORT(abi_session_device_begin) const char *abi_session_device_begin(TrainletSession *s, int anew) {
  const char *text = trainlet_session_device_begin(s, anew != 0);
  session_status(s);
  return text;
}
/* The steps of the program that it runs, as JSON. */
EXPORT(abi_session_device_plan) const char *abi_session_device_plan(TrainletSession *s) {
  const char *text = trainlet_session_device_plan(s);
  session_status(s);
  return text;
}
/* The ranges of memory that it reads and writes, as JSON: pairs of address and bytes, then null. */
EXPORT(abi_session_device_state) const char *abi_session_device_state(TrainletSession *s) {
  const char *text = trainlet_session_device_state(s);
  session_status(s);
  return text;
}
/* It is done, and its outputs are written. */
EXPORT(abi_session_device_end)
Status abi_session_device_end(TrainletSession *s, int optimize, double norm_squared) {
  return trainlet_session_device_end(s, optimize != 0, norm_squared), session_status(s);
}

/* Runs the training graph up to the gradients of an external loss. Its outputs can be read then. Its values are kept
 * in memory of their own, under the number that is returned; 0 on failure. Several may be open. */
EXPORT(abi_session_forward) int abi_session_forward(TrainletSession *s) {
  int id = 0;
  trainlet_session_forward(s, &id);
  return session_status(s) == STATUS_OK ? id : 0;
}
EXPORT(abi_session_feed_gradient)
void *abi_session_feed_gradient(TrainletSession *s, int id, const char *output, int type, int rank,
                                const int64_t *dims) {
  void *to = trainlet_session_feed_gradient(s, id, output, type, rank, dims);
  session_status(s);
  return to;
}
EXPORT(abi_session_backward) Status abi_session_backward(TrainletSession *s, int id, const char *inputs) {
  return trainlet_session_backward(s, id, inputs), session_status(s);
}
EXPORT(abi_session_drop_forward) void abi_session_drop_forward(TrainletSession *s, int id) {
  trainlet_session_drop_forward(s, id);
}
EXPORT(abi_session_changed) void abi_session_changed(TrainletSession *s) { trainlet_session_changed(s); }

/* The learning rate; 0 without an optimizer. */
EXPORT(abi_session_lr) double abi_session_lr(TrainletSession *s) { return trainlet_session_lr(s); }
/* Sets the learning rate. */
EXPORT(abi_session_set_lr) void abi_session_set_lr(TrainletSession *s, double lr) { trainlet_session_set_lr(s, lr); }
EXPORT(abi_session_steps) int64_t abi_session_steps(TrainletSession *s) { return trainlet_session_steps(s); }
EXPORT(abi_session_set_seed) void abi_session_set_seed(TrainletSession *s, int64_t seed) {
  trainlet_session_set_seed(s, (uint64_t)seed);
}

/* The bytes of the i-th of `parameters`, read or written in place. */
EXPORT(abi_session_parameter) void *abi_session_parameter(TrainletSession *s, int i) {
  return (void *)(uintptr_t)trainlet_session_parameter(s, i).data;
}
EXPORT(abi_session_set_trainable) Status abi_session_set_trainable(TrainletSession *s, const char *patterns) {
  return trainlet_session_set_trainable(s, patterns), session_status(s);
}
EXPORT(abi_session_bound)
Status abi_session_bound(TrainletSession *s, const char *pattern, double least, double most) {
  return trainlet_session_bound(s, pattern, least, most), session_status(s);
}
EXPORT(abi_session_unbound) void abi_session_unbound(TrainletSession *s) { trainlet_session_unbound(s); }
EXPORT(abi_session_set_groups) Status abi_session_set_groups(TrainletSession *s, const char *groups) {
  return trainlet_session_set_groups(s, groups), session_status(s);
}
EXPORT(abi_session_set_ema) Status abi_session_set_ema(TrainletSession *s, double decay, int anew) {
  return trainlet_session_set_ema(s, decay, anew), session_status(s);
}
EXPORT(abi_session_swap_ema) Status abi_session_swap_ema(TrainletSession *s) {
  return trainlet_session_swap_ema(s), session_status(s);
}
EXPORT(abi_session_gradient) const float *abi_session_gradient(TrainletSession *s, int i) {
  const float *gradient = trainlet_session_gradient(s, i);
  session_status(s);
  return gradient;
}
EXPORT(abi_session_element_count) double abi_session_element_count(TrainletSession *s, int which) {
  return (double)trainlet_session_element_count(s, (TrainletWhich)which);
}
EXPORT(abi_session_copy_out) void abi_session_copy_out(TrainletSession *s, int which, float *to) {
  trainlet_session_copy_out(s, (TrainletWhich)which, to);
}
EXPORT(abi_session_copy_in) void abi_session_copy_in(TrainletSession *s, int which, const float *from) {
  trainlet_session_copy_in(s, (TrainletWhich)which, from);
}

EXPORT(abi_session_position) int64_t abi_session_position(TrainletSession *s, int i) {
  return trainlet_session_position(s, i);
}
EXPORT(abi_session_set_position) void abi_session_set_position(TrainletSession *s, int i, int64_t value) {
  trainlet_session_set_position(s, i, value);
}

EXPORT(abi_session_fit) const char *abi_session_fit(TrainletSession *s) { return trainlet_session_fit(s); }
EXPORT(abi_session_set_fit) Status abi_session_set_fit(TrainletSession *s, const char *text) {
  return trainlet_session_set_fit(s, text), session_status(s);
}
EXPORT(abi_session_best) Status abi_session_best(TrainletSession *s, int what) {
  return trainlet_session_best(s, (TrainletBest)what), session_status(s);
}

/* Adds an adapter, which changes nothing yet. */
EXPORT(abi_session_add_adapter) Status abi_session_add_adapter(TrainletSession *s, const char *name) {
  return trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, name), session_status(s);
}
/* Uses an adapter from here on; ptr 0: the base alone, to which a weighted sum of adapters may be written. */
EXPORT(abi_session_use_adapter) Status abi_session_use_adapter(TrainletSession *s, const char *name) {
  return trainlet_session_adapter(s, TRAINLET_ADAPTER_USE, name), session_status(s);
}
/* Puts an adapter (ptr 0: the base alone) in the place of the one in use, and drops nothing. No step may come before
 * abi_session_return_adapter. */
EXPORT(abi_session_lend_adapter) Status abi_session_lend_adapter(TrainletSession *s, const char *name) {
  return trainlet_session_adapter(s, TRAINLET_ADAPTER_LEND, name), session_status(s);
}
/* Puts the adapter back that abi_session_lend_adapter has replaced. `name` is ptr 0. */
EXPORT(abi_session_return_adapter) Status abi_session_return_adapter(TrainletSession *s, const char *name) {
  return trainlet_session_adapter(s, TRAINLET_ADAPTER_RETURN, name), session_status(s);
}
/* Forgets an adapter that is not in use. */
EXPORT(abi_session_delete_adapter) Status abi_session_delete_adapter(TrainletSession *s, const char *name) {
  return trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, name), session_status(s);
}

EXPORT(abi_session_property_set_int)
Status abi_session_property_set_int(TrainletSession *s, const char *name, int64_t value) {
  return trainlet_session_property_set_int(s, name, value), session_status(s);
}
EXPORT(abi_session_property_set_float)
Status abi_session_property_set_float(TrainletSession *s, const char *name, double value) {
  return trainlet_session_property_set_float(s, name, value), session_status(s);
}
EXPORT(abi_session_property_set_string)
Status abi_session_property_set_string(TrainletSession *s, const char *name, const char *value) {
  return trainlet_session_property_set_string(s, name, value), session_status(s);
}
EXPORT(abi_session_property_delete) void abi_session_property_delete(TrainletSession *s, const char *name) {
  trainlet_session_property_delete(s, name);
}
/* The properties as JSON: `[{"name", "type": "int", "value": "123"}, …]`; the type may also be "float" (a number) or
 * "string". int64 is decimal text. Valid until the next call. */
EXPORT(abi_session_properties) const char *abi_session_properties(TrainletSession *s) {
  const char *text = trainlet_session_properties(s);
  session_status(s);
  return text;
}
/* The loaded checkpoint as JSON, before ready: `parameters` ({"name", "type", "dims", "trainable"}), `optimizer`
 * ({"learningRate", "initialLearningRate", "steps", "moments"} or null), `properties`, `nominal`, `position` (5
 * numbers). Valid until the next call. */
EXPORT(abi_session_checkpoint) const char *abi_session_checkpoint(TrainletSession *s) {
  const char *text = trainlet_session_checkpoint(s);
  session_status(s);
  return text;
}
EXPORT(abi_checkpoint_writer) const char *abi_checkpoint_writer(const void *bytes, size_t count) {
  error_clear(&last_error);
  return trainlet_checkpoint_writer(bytes, count);
}

/* A checkpoint in one of `formats`, with or without the optimizer's state. `ort1` is for ONNX Runtime 1.16 and 1.17,
 * `ort2` for later versions; neither holds data position, random state and adapters that are not in use, and the
 * learning rate only with optimizer state. `adapters` leaves out parameters that neither train nor belong to an
 * adapter. `non-finite-loss` if training has made a value infinite or NaN. Read it by abi_session_result. */
EXPORT(abi_session_save) Status abi_session_save(TrainletSession *s, int optimizer_state, int format) {
  return trainlet_session_save(s, optimizer_state != 0, (TrainletFormat)format), session_status(s);
}
/* A plain inference ONNX model, of these outputs (one a line; ptr 0: the model's own). `training_info`: with ONNX's
 * description of the training; else `types`: with the type of every value. `adapters`: LoRA adapters as nodes of
 * their own (0), in the weights (1), or as inputs (2). Errors as abi_session_save. Read it by abi_session_result. */
EXPORT(abi_session_export)
Status abi_session_export(TrainletSession *s, const char *outputs, int training_info, int types, int adapters) {
  TrainletExport form = training_info ? TRAINLET_EXPORT_TRAINING_INFO
                      : types         ? TRAINLET_EXPORT_TYPES
                                      : TRAINLET_EXPORT_MODEL;
  form |= (TrainletExport)(4 * (unsigned)adapters); /* MERGED, ADAPTER_INPUTS; what is neither is refused */
  return trainlet_session_export(s, outputs, form), session_status(s);
}
EXPORT(abi_session_output_layer) const char *abi_session_output_layer(TrainletSession *s, const char *output) {
  const char *text = trainlet_session_output_layer(s, output);
  session_status(s);
  return text;
}
EXPORT(abi_session_extend)
Status abi_session_extend(TrainletSession *s, int which, const char *output, const char *names, int count,
                          const float *weights, const float *biases) {
  trainlet_session_extend(s, (TrainletPart)which, output, names, count, weights, biases);
  return session_status(s);
}
EXPORT(abi_session_compact) Status abi_session_compact(TrainletSession *s, int weights) {
  return trainlet_session_compact(s, (TrainletWeights)weights), session_status(s);
}
/* The bytes of the last save, export, extend or compact, and their number. Valid until the next, or
 * abi_session_result_free. */
EXPORT(abi_session_result) const void *abi_session_result(TrainletSession *s) {
  size_t bytes;
  return trainlet_session_result(s, &bytes);
}
EXPORT(abi_session_result_length) size_t abi_session_result_length(TrainletSession *s) {
  size_t bytes;
  trainlet_session_result(s, &bytes);
  return bytes;
}
/* Frees them. */
EXPORT(abi_session_result_free) void abi_session_result_free(TrainletSession *s) { trainlet_session_result_free(s); }
