/* Compact files: a session from one does what a session from the four files does, to the bit; what is damaged is
 * refused with a sentence. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/crc32.h"
#include "compact/compact.h"
#include "golden_run.h"
#include "hostile.h"
#include "json.h"
#include "ort_set.h"

/* ---- files ---- */

/* A copy of the session's result. */
static uint8_t *take_result(TrainletSession *s, size_t *bytes) {
  const void *result = trainlet_session_result(s, bytes);
  uint8_t *copy = malloc(*bytes + 1);
  if (*bytes) memcpy(copy, result, *bytes);
  return copy;
}

static bool load_parts(const GoldenRun *run, TrainletSession *s) {
  bool ok = true;
  for (int part = TRAINLET_TRAIN; ok && part <= TRAINLET_CHECKPOINT; part++) {
    size_t bytes;
    const void *data = trainlet_artifacts_bytes(run->artifacts, (TrainletPart)part, &bytes);
    ok = golden_ok(s, trainlet_session_load(s, (TrainletPart)part, data, bytes), "load");
  }
  return ok;
}

static uint8_t *compact_of(const GoldenRun *run, TrainletWeights weights, size_t *bytes) {
  TrainletSession *s = trainlet_session_new();
  bool ok = load_parts(run, s) && golden_ok(s, trainlet_session_compact(s, weights), "compact");
  uint8_t *file = ok ? take_result(s, bytes) : NULL;
  trainlet_session_free(s);
  return file;
}

/* Read in place where the session gave the room for it. */
static TrainletSession *compact_session(const uint8_t *file, size_t bytes, bool in_place) {
  TrainletSession *s = trainlet_session_new();
  void *place = in_place ? trainlet_session_file(s, bytes) : NULL;
  if (place) memcpy(place, file, bytes);
  Status status = trainlet_session_load(s, TRAINLET_COMPACT, place ? place : file, bytes);
  if (golden_ok(s, status, "load compact") && golden_ok(s, trainlet_session_ready(s), "ready")) return s;
  trainlet_session_free(s);
  return NULL;
}

/* ---- the same as the four files ---- */

static void check_same_text(const char *what, const char *a, const char *b) {
  size_t i = 0;
  while (a && b && a[i] && a[i] == b[i]) i++;
  check(a && b && a[i] == b[i], "%s differs from byte %zu on: '%.60s', '%.60s'", what, i, a ? a + i : "NULL",
        b ? b + i : "NULL");
}

/* Both describe into memory of their own, valid until their next call. */
static void check_described(TrainletSession *a, TrainletSession *b) {
  check_same_text("what trains", trainlet_session_graph(a, TRAINLET_TRAIN), trainlet_session_graph(b, TRAINLET_TRAIN));
  check_same_text("what evaluates", trainlet_session_graph(a, TRAINLET_EVAL), trainlet_session_graph(b, TRAINLET_EVAL));
}

/* A session takes no other bytes of a compact file that was not read in place. */
static void check_json(TrainletSession *a, TrainletSession *b) {
  char *of_a = strdup(trainlet_session_json(a)), *of_b = strdup(trainlet_session_json(b));
  char *memory_a = strstr(of_a, "\"takenBytes\""), *memory_b = strstr(of_b, "\"takenBytes\"");
  if (check(memory_a && memory_b, "the memory is described")) *memory_a = *memory_b = 0;
  check_same_text("the description", of_a, of_b);
  free(of_a);
  free(of_b);
}

static void check_same_result(const char *what, TrainletSession *a, Status of_a, TrainletSession *b, Status of_b) {
  size_t bytes_a, bytes_b;
  const void *file_a = trainlet_session_result(a, &bytes_a), *file_b = trainlet_session_result(b, &bytes_b);
  check(of_a == of_b, "%s: %s, from a compact file %s", what, trainlet_session_error(a)->text,
        trainlet_session_error(b)->text);
  if (of_a != STATUS_OK) return check_same_text(what, trainlet_session_error(a)->text, trainlet_session_error(b)->text);
  check(bytes_a == bytes_b && memcmp(file_a, file_b, bytes_a) == 0, "%s has %zu bytes, from a compact file %zu others",
        what, bytes_a, bytes_b);
}

static void check_files(TrainletSession *a, TrainletSession *b) {
  for (int format = TRAINLET_FORMAT_TRAINLET; format <= TRAINLET_FORMAT_ORT_2; format++)
    check_same_result("the checkpoint", a, trainlet_session_save(a, true, (TrainletFormat)format), b,
                      trainlet_session_save(b, true, (TrainletFormat)format));
  for (int info = 0; info < 2; info++)
    check_same_result("the exported model", a, trainlet_session_export(a, NULL, info), b,
                      trainlet_session_export(b, NULL, info));
}

/* Another choice of what trains is made of the training graph. */
static void check_choice(TrainletSession *a, TrainletSession *b) {
  static const char *const patterns[] = {"*bias", "*weight", "*"};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    Status of_a = trainlet_session_set_trainable(a, patterns[i]), of_b = trainlet_session_set_trainable(b, patterns[i]);
    check(of_a == of_b, "%s trains with status %d, from a compact file with %d", patterns[i], of_a, of_b);
    check_same_text("why not", trainlet_session_error(a)->text, trainlet_session_error(b)->text);
    check_described(a, b);
  }
}

static void check_same(const GoldenRun *run, TrainletSession *a, TrainletSession *b) {
  enum { STEPS = 3 };
  check_described(a, b);
  check_json(a, b);
  for (int i = 0; i < STEPS; i++) {
    double of_a = golden_step(run, a, i), of_b = golden_step(run, b, i);
    check(of_a == of_b, "loss %d is %.9g, from a compact file %.9g", i, of_a, of_b);
  }
  check_described(a, b); /* it ran and has a plan */
  check_files(a, b);
  check_choice(a, b);
  check(golden_step(run, a, STEPS) == golden_step(run, b, STEPS), "the loss of another choice differs");
}

/* A file that was read is written again with the same bytes. */
static void check_again(const uint8_t *file, size_t bytes) {
  TrainletSession *s = trainlet_session_new();
  bool ok = golden_ok(s, trainlet_session_load(s, TRAINLET_COMPACT, file, bytes), "load compact") &&
            golden_ok(s, trainlet_session_compact(s, TRAINLET_WEIGHTS_EXACT), "compact");
  size_t count = 0;
  const void *again = trainlet_session_result(s, &count);
  check(ok && count == bytes && memcmp(file, again, bytes) == 0, "a file of %zu bytes becomes one of %zu", bytes,
        count);
  trainlet_session_free(s);
}

static void trains_as_from_four_files(const void *name) {
  GoldenRun run;
  size_t bytes, all = 0;
  uint8_t *file = golden_run_open(&run, name) ? compact_of(&run, TRAINLET_WEIGHTS_EXACT, &bytes) : NULL;
  TrainletSession *a = file ? golden_session(&run, NULL, 0) : NULL;
  TrainletSession *b = a ? compact_session(file, bytes, strlen(name) % 2) : NULL;
  if (b) check_same(&run, a, b), check_again(file, bytes);
  for (int part = TRAINLET_TRAIN; b && part <= TRAINLET_CHECKPOINT; part++) {
    size_t count;
    trainlet_artifacts_bytes(run.artifacts, (TrainletPart)part, &count);
    all += count;
  }
  if (b) test_note("%zu bytes of %zu", bytes, all);
  trainlet_session_free(a);
  trainlet_session_free(b);
  golden_run_close(&run);
  free(file);
}

/* A recipe with PyTorch's numbers; its name. */
static bool is_run(const char *file, char name[64]) {
  size_t length = strlen(file), bytes;
  if (length < 6 || length > 60 || strcmp(file + length - 5, ".json") != 0) return false;
  Arena arena = {0};
  char *text = file_read(&arena, arena_print(&arena, "tests/golden/data/%s", file), &bytes);
  Json *recipe = text ? json_parse(&arena, text) : NULL;
  bool is = recipe && json_get(recipe, "torch") && json_get(recipe, "model");
  arena_free(&arena);
  snprintf(name, 64, "%.*s", (int)length - 5, file);
  return is;
}

static void every_golden_network(void) {
  struct dirent **entries;
  int count = scandir("tests/golden/data", &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char name[64];
    if (is_run(entries[i]->d_name, name)) test_run(name, trains_as_from_four_files, name);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

/* ---- ONNX Runtime's artifacts ---- */

static TrainletSession *ort_set_compacted(OrtSet *set, const char *ending) {
  const char *const names[] = {"training_model", "eval_model", "optimizer_model"};
  TrainletSession *s = trainlet_session_new();
  bool ok = true;
  for (int part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    char file[64];
    size_t bytes;
    snprintf(file, sizeof file, "%s%s", part == TRAINLET_CHECKPOINT ? "checkpoint" : names[part],
             part == TRAINLET_CHECKPOINT ? "" : ending);
    const void *data = ort_set_file(set, file, &bytes);
    ok &= data && golden_ok(s, trainlet_session_load(s, (TrainletPart)part, data, bytes), file);
  }
  size_t bytes = 0;
  ok = ok && golden_ok(s, trainlet_session_compact(s, TRAINLET_WEIGHTS_EXACT), "compact");
  uint8_t *file = ok ? take_result(s, &bytes) : NULL;
  trainlet_session_free(s);
  TrainletSession *made = file ? compact_session(file, bytes, true) : NULL;
  free(file);
  return made;
}

static void trains_onnx_runtimes_artifacts(const void *name) {
  OrtSet set;
  TrainletSession *a = ort_set_open(&set, name) ? ort_set_session(&set, NULL, 0) : NULL;
  TrainletSession *b = a ? ort_set_compacted(&set, strstr(name, "ortformat") ? ".ort" : ".onnx") : NULL;
  if (b) check_described(a, b);
  for (int i = 0; b && i < 3; i++) {
    double of_a = ort_set_step(&set, a), of_b = ort_set_step(&set, b);
    check(of_a == of_b && isfinite(of_a), "loss %d is %.9g, from a compact file %.9g", i, of_a, of_b);
  }
  if (b) check_files(a, b);
  trainlet_session_free(a);
  trainlet_session_free(b);
  ort_set_close(&set);
}

/* ---- on the way: a later checkpoint, a missing part, the first bytes ---- */

static void a_later_checkpoint_takes_its_place(const void *argument) {
  (void)argument;
  GoldenRun run;
  size_t bytes, saved_bytes = 0;
  uint8_t *file = golden_run_open(&run, "mlp_momentum") ? compact_of(&run, TRAINLET_WEIGHTS_EXACT, &bytes) : NULL;
  if (!file) return golden_run_close(&run);
  TrainletSession *a = compact_session(file, bytes, true), *b = trainlet_session_new();
  for (int i = 0; i < 3; i++) golden_step(&run, a, i);
  golden_ok(a, trainlet_session_save(a, true, TRAINLET_FORMAT_TRAINLET), "save");
  uint8_t *saved = take_result(a, &saved_bytes);
  golden_ok(b, trainlet_session_load(b, TRAINLET_COMPACT, file, bytes), "load compact");
  golden_ok(b, trainlet_session_load(b, TRAINLET_CHECKPOINT, saved, saved_bytes), "load a checkpoint");
  golden_ok(b, trainlet_session_ready(b), "ready");
  check(trainlet_session_steps(b) == 3, "%d steps are done", (int)trainlet_session_steps(b));
  check(golden_step(&run, a, 3) == golden_step(&run, b, 3), "the resumed session's loss differs");
  trainlet_session_free(a);
  trainlet_session_free(b);
  golden_run_close(&run);
  free(saved);
  free(file);
}

static void asks_for_what_it_is_made_of(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = trainlet_session_new();
  if (golden_run_open(&run, "mlp_momentum")) {
    size_t bytes;
    const void *train = trainlet_artifacts_bytes(run.artifacts, TRAINLET_TRAIN, &bytes);
    golden_ok(s, trainlet_session_load(s, TRAINLET_TRAIN, train, bytes), "load");
    check(trainlet_session_compact(s, TRAINLET_WEIGHTS_EXACT) == STATUS_INVALID_ARGUMENT, "no checkpoint: %s",
          trainlet_session_error(s)->text);
    check(load_parts(&run, s) && trainlet_session_compact(s, (TrainletWeights)3) == STATUS_INVALID_ARGUMENT,
          "weights number 3: %s", trainlet_session_error(s)->text);
    golden_ok(s, trainlet_session_ready(s), "ready");
    check(trainlet_session_compact(s, TRAINLET_WEIGHTS_EXACT) == STATUS_INVALID_ARGUMENT, "ready: %s",
          trainlet_session_error(s)->text);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void the_first_bytes_name_the_optimizer(const void *argument) {
  (void)argument;
  GoldenRun run;
  size_t bytes;
  uint8_t *file = golden_run_open(&run, "mlp_rmsprop") ? compact_of(&run, TRAINLET_WEIGHTS_EXACT, &bytes) : NULL;
  if (file) check(strcmp((char *)file + 12, "rmsprop") == 0, "byte 12 on is '%.12s'", (char *)file + 12);
  free(file);
  golden_run_close(&run);
}

/* ---- smaller weights ---- */

/* The scale of the channel of element i. */
static double scale_of(const TrainletTensor *t, size_t i) {
  const float *x = t->data;
  size_t each = t->count / (size_t)t->dims[0], first = i / each * each;
  double most = 0;
  for (size_t k = first; k < first + each; k++) most = fmax(most, fabs((double)x[k]));
  return most / 127;
}

static bool within(const TrainletTensor *was, const TrainletTensor *is, TrainletWeights weights) {
  const float *x = was->data, *y = is->data;
  for (size_t i = 0; i < was->count; i++) {
    double off = fabs((double)x[i] - (double)y[i]);
    double most = weights == TRAINLET_WEIGHTS_FLOAT16 ? fabs((double)x[i]) / 2048 + 0x1p-25
                                                      : scale_of(was, i) * 0.50001;
    if (off > most) return false;
  }
  return true;
}

static void smaller_weights_are_near(const void *argument) {
  TrainletWeights weights = *(const TrainletWeights *)argument;
  GoldenRun run;
  size_t bytes = 0, exact_bytes = 0, changed = 0;
  bool open = golden_run_open(&run, "transformer");
  uint8_t *exact = open ? compact_of(&run, TRAINLET_WEIGHTS_EXACT, &exact_bytes) : NULL;
  uint8_t *file = exact ? compact_of(&run, weights, &bytes) : NULL;
  TrainletSession *a = file ? compact_session(exact, exact_bytes, false) : NULL,
                  *b = a ? compact_session(file, bytes, false) : NULL;
  for (int i = 0; b && i < trainlet_session_parameter_count(a); i++) {
    TrainletTensor was = trainlet_session_parameter(a, i), is = trainlet_session_parameter(b, i);
    bool same = memcmp(was.data, is.data, was.bytes) == 0;
    changed += !same;
    check(was.rank > 1 || same, "'%s' of %d dims has changed", was.name, was.rank);
    check(same || within(&was, &is, weights), "'%s' is farther off than half a unit", was.name);
  }
  check(changed > 0, "no parameter has changed");
  check(bytes < exact_bytes * (weights == TRAINLET_WEIGHTS_INT8 ? 0.6 : 0.75), "%zu bytes, exactly %zu", bytes,
        exact_bytes);
  test_note("%zu bytes, exactly %zu", bytes, exact_bytes);
  trainlet_session_free(a);
  trainlet_session_free(b);
  free(exact);
  free(file);
  golden_run_close(&run);
}

/* One value that the coding cannot hold keeps the whole tensor as it is. */
static void what_it_cannot_hold_stays(const void *argument) {
  TrainletWeights weights = *(const TrainletWeights *)argument;
  float large[4] = {1.1f, -70000, 0.3f, 2}, whole[4] = {1.1f, INFINITY, 0.3f, 2}, good[4] = {1.1f, 0.7f, 0.3f, 2};
  const Shape square = SHAPE(2, 2);
  CheckpointTensor tensors[] = {{"large", DTYPE_FLOAT32, square, large, sizeof large},
                                {"whole", DTYPE_FLOAT32, square, whole, sizeof whole},
                                {"good", DTYPE_FLOAT32, square, good, sizeof good}};
  Arena arena = {0};
  Error error = {0};
  Block block = {0};
  size_t bytes;
  Graph *g = graph_new(&arena, &error);
  Compact read, of = {.train = g, .checkpoint = {.frozen = tensors, .frozen_count = 3}};
  bool ok = check(compact_write(&of, weights, &error, &block, &bytes) == STATUS_OK, "%s", error.text) &&
            check(compact_read(block.data, bytes, false, &arena, &error, &read) == STATUS_OK, "%s", error.text);
  if (ok) {
    const CheckpointTensor *t = read.checkpoint.frozen;
    bool large_stays = memcmp(t[0].data, large, sizeof large) == 0;
    check(large_stays == (weights == TRAINLET_WEIGHTS_FLOAT16), "70,000 fits int8 alone");
    check(memcmp(t[1].data, whole, sizeof whole) == 0, "infinity fits neither");
    check(memcmp(t[2].data, good, sizeof good) != 0, "what fits was rounded");
  }
  block_free(&block);
  arena_free(&arena);
}

/* ---- bytes from outside ---- */

/* Raw bytes, and bytes with a valid head, so that the checksum is no wall. */
static bool read_with(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Compact compact;
  Status status = compact_read(bytes, count, false, &arena, &error, &compact);
  check(status == error.status && (status == STATUS_OK || *error.text), "status %d without its sentence", status);
  check(status != STATUS_INTERNAL, "the engine's own fault: %s", error.text);
  arena_free(&arena);
  return status != STATUS_OK;
}

static bool read_mended(const uint8_t *bytes, size_t count) {
  if (count < sizeof(CompactHead)) return read_with(bytes, count);
  uint8_t *copy = malloc(count);
  memcpy(copy, bytes, count);
  uint32_t checksum = crc32_of(copy + COMPACT_CHECKED, count - COMPACT_CHECKED);
  memcpy(copy + offsetof(CompactHead, checksum), &checksum, sizeof checksum);
  bool refused = read_with(copy, count);
  free(copy);
  return refused;
}

static void hostile_bytes_are_refused(const void *name) {
  GoldenRun run;
  size_t bytes;
  uint8_t *file = golden_run_open(&run, name) ? compact_of(&run, TRAINLET_WEIGHTS_INT8, &bytes) : NULL;
  if (file) hostile_try(file, bytes, read_with), hostile_try(file, bytes, read_mended);
  free(file);
  golden_run_close(&run);
}

int main(void) {
  static const TrainletWeights half = TRAINLET_WEIGHTS_FLOAT16, eighth = TRAINLET_WEIGHTS_INT8;
  every_golden_network();
  test_run("mnist_web", trains_onnx_runtimes_artifacts, "mnist_web");
  test_run("ort_testdata", trains_onnx_runtimes_artifacts, "ort_testdata");
  test_run("ort_testdata_ortformat", trains_onnx_runtimes_artifacts, "ort_testdata_ortformat");
  TEST(a_later_checkpoint_takes_its_place);
  TEST(asks_for_what_it_is_made_of);
  TEST(the_first_bytes_name_the_optimizer);
  test_run("float16 is near", smaller_weights_are_near, &half);
  test_run("int8 is near", smaller_weights_are_near, &eighth);
  test_run("what float16 cannot hold stays", what_it_cannot_hold_stays, &half);
  test_run("what int8 cannot hold stays", what_it_cannot_hold_stays, &eighth);
  test_run("hostile bytes of mlp_frozen", hostile_bytes_are_refused, "mlp_frozen");
  test_run("hostile bytes of lora_linear", hostile_bytes_are_refused, "lora_linear");
  return test_finish();
}
