/* Ort checkpoint: sessions come back from ONNX Runtime's format, nominal ones wait for values, hostile bytes get a
 * sentence. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/checkpoint.h"
#include "golden_run.h"
#include "hostile.h"
#include "ort_set.h"

/* ---- saving ---- */

static void set_properties(TrainletSession *s) {
  trainlet_session_property_set_int(s, "epoch", INT64_MIN);
  trainlet_session_property_set_float(s, "best", 0.5);
  trainlet_session_property_set_string(s, "label", "größer");
}

/* A character of each length, and the largest of what may be set. */
static void refused_properties_change_nothing(const void *argument) {
  static const char *const texts[] = {
      "\x80", "\xC1\x81", "\xC3", "\xE0\x81\x81", "\xED\xA0\x80", "\xF0\x81\x81\x81", "\xF4\x90\x80\x80",
      "\xF8", "a\xE2\x82"};
  OrtSet set;
  TrainletSession *s = ort_set_open(&set, "mnist_web") ? ort_set_session(&set, NULL, 0) : NULL;
  char *name = calloc(1, PROPERTY_NAME_MAX + 2), *text = calloc(1, PROPERTY_TEXT_MAX + 2);
  memset(name, 'n', PROPERTY_NAME_MAX + 1);
  memset(text, 't', PROPERTY_TEXT_MAX + 1);
  for (size_t i = 0; s && i < sizeof texts / sizeof *texts; i++) {
    check(trainlet_session_property_set_int(s, texts[i], 1) == STATUS_INVALID_ARGUMENT, "name %zu is set", i);
    check(trainlet_session_property_set_string(s, "x", texts[i]) == STATUS_INVALID_ARGUMENT, "text %zu is set", i);
  }
  if (s) {
    check(trainlet_session_property_set_int(s, "", 1) == STATUS_INVALID_ARGUMENT &&
              strstr(trainlet_session_error(s)->text, "empty"),
          "an empty name is set");
    check(trainlet_session_property_set_int(s, name, 1) == STATUS_INVALID_ARGUMENT, "a name that is too long is set");
    check(trainlet_session_property_set_string(s, "x", text) == STATUS_INVALID_ARGUMENT,
          "a text that is too long is set");
    check(trainlet_session_property_set_float(s, "x", 1e39) == STATUS_INVALID_ARGUMENT, "infinity is set");
    check(strcmp(trainlet_session_properties(s), "[]") == 0, "they are %.100s", trainlet_session_properties(s));
    name[PROPERTY_NAME_MAX] = text[PROPERTY_TEXT_MAX] = 0;
    golden_ok(s, trainlet_session_property_set_string(s, name, text), "set the longest");
    golden_ok(s, trainlet_session_property_set_string(s, "aß€😀", "aß€😀"), "set characters of every length");
    for (int format = TRAINLET_FORMAT_TRAINLET; format <= TRAINLET_FORMAT_ORT_2; format++) {
      size_t bytes;
      golden_ok(s, trainlet_session_save(s, true, (TrainletFormat)format), "save");
      const void *saved = trainlet_session_result(s, &bytes);
      TrainletSession *t = ort_set_session(&set, saved, bytes);
      if (t)
        check(strcmp(trainlet_session_properties(s), trainlet_session_properties(t)) == 0,
              "in format %d they come back otherwise", format);
      trainlet_session_free(t);
    }
    trainlet_session_free(s);
  }
  free(name);
  free(text);
  ort_set_close(&set);
}

static const char *copy_text(OrtSet *set, const char *text) { return arena_copy_text(&set->arena, text ? text : ""); }

/* Two steps, save, load elsewhere, two more: the bits of four steps; and saved at once, the same file. */
static void hold_resume(OrtSet *set, TrainletSession *s, TrainletFormat format) {
  size_t bytes, again;
  trainlet_session_set_lr(s, 0.003);
  set_properties(s);
  for (int i = 0; i < 2; i++) ort_set_step(set, s);
  if (!golden_ok(s, trainlet_session_save(s, true, format), "save")) return;
  const void *saved = trainlet_session_result(s, &bytes);
  TrainletSession *t = ort_set_session(set, saved, bytes);
  if (!t) return;
  check(trainlet_session_steps(t) == 2 && trainlet_session_lr(t) == trainlet_session_lr(s),
        "it comes back with step %lld and rate %g", (long long)trainlet_session_steps(t), trainlet_session_lr(t));
  check(strcmp(copy_text(set, trainlet_session_properties(s)), trainlet_session_properties(t)) == 0,
        "its properties are %s", trainlet_session_properties(t));
  golden_ok(t, trainlet_session_save(t, true, format), "save again");
  const void *second = trainlet_session_result(t, &again);
  check(again == bytes && memcmp(saved, second, bytes) == 0, "saved again it is another file");
  for (int i = 0; i < 2; i++) {
    double want = ort_set_step(set, s), got = ort_set_step(set, t);
    check(got == want, "loss %d after the resume is %.9g, without it %.9g", i, got, want);
  }
  trainlet_session_free(t);
}

static const TrainletFormat formats[] = {TRAINLET_FORMAT_TRAINLET, TRAINLET_FORMAT_ORT_1, TRAINLET_FORMAT_ORT_2};

static void every_format_comes_back(const void *format) {
  OrtSet set;
  TrainletSession *s = ort_set_open(&set, "mnist_web") ? ort_set_session(&set, NULL, 0) : NULL;
  if (s) {
    hold_resume(&set, s, *(const TrainletFormat *)format);
    trainlet_session_free(s);
  }
  ort_set_close(&set);
}

/* The runtime first reads identifier and version, and no optimizer group when none was asked for. */
static void versions_are_told_apart(const void *argument) {
  OrtSet set;
  TrainletSession *s = ort_set_open(&set, "mnist_web") ? ort_set_session(&set, NULL, 0) : NULL;
  for (int version = 1; s && version <= 2; version++) {
    size_t bytes;
    Checkpoint c;
    Error error = {0};
    ort_set_step(&set, s);
    if (!golden_ok(s, trainlet_session_save(s, false, formats[version]), "save")) break;
    const uint8_t *saved = trainlet_session_result(s, &bytes);
    uint32_t root, vtable;
    uint16_t field;
    int32_t number;
    memcpy(&root, saved, 4);
    memcpy(&vtable, saved + root, 4);
    memcpy(&field, saved + root - (int32_t)vtable + 4, 2);
    memcpy(&number, saved + root + field, 4);
    check(number == version, "its version is %d", number);
    check(ort_checkpoint_is(saved, bytes), "it has no identifier");
    check(ort_checkpoint_read(saved, bytes, NULL, &set.arena, &error, &c) == STATUS_OK && !c.has_optimizer,
          "it has optimizer state: %s", error.text);
  }
  if (s) {
    check(trainlet_session_save(s, true, (TrainletFormat)3) == STATUS_INVALID_ARGUMENT, "format 3 is written");
    trainlet_session_free(s);
  }
  ort_set_close(&set);
}

/* The runtime wants a first moment for each trainable parameter, even of the optimizer that keeps none. */
static void plain_sgd_has_moments_of_zeros(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL, *t = NULL;
  Checkpoint c = {0};
  Error error = {0};
  size_t bytes = 0;
  if (golden_run_open(&run, "mlp_frozen") &&
      trainlet_artifacts_set(run.artifacts, "optimizer.type", "sgd") == STATUS_OK &&
      trainlet_artifacts_build(run.artifacts) == STATUS_OK && (s = golden_session(&run, NULL, 0))) {
    golden_step(&run, s, 0);
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_ORT_2), "save");
    const void *saved = trainlet_session_result(s, &bytes);
    check(ort_checkpoint_read(saved, bytes, NULL, &run.arena, &error, &c) == STATUS_OK && c.step == 1, "%s",
          error.text);
    check(c.moment_count == c.trainable_count && c.trainable_count > 0, "%d moments for %d parameters", c.moment_count,
          c.trainable_count);
    for (int i = 0; i < c.moment_count; i++)
      check(c.moments[i].count == 1 && *(const float *)c.moments[i].moment[0].data == 0, "'%s' has other moments",
            c.moments[i].parameter);
    t = golden_session(&run, saved, bytes);
    check(t && golden_step(&run, t, 1) == golden_step(&run, s, 1), "it goes on otherwise");
  }
  if (t) trainlet_session_free(t);
  if (s) trainlet_session_free(s);
  golden_run_close(&run);
}

/* ---- nominal ---- */

static void hold_refusals(TrainletSession *s) {
  const char *sentence = "the checkpoint is nominal: its parameters have no values until loadParametersBuffer brings "
                         "all of them (trainableOnly false)";
  trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, (int64_t[]){8});
  check(strcmp(trainlet_session_error(s)->text, sentence) == 0, "a feed says '%s'", trainlet_session_error(s)->text);
  const Status statuses[] = {trainlet_session_run(s, TRAINLET_TRAIN, NULL),
                             trainlet_session_run(s, TRAINLET_EVAL, NULL),
                             trainlet_session_step(s),
                             trainlet_session_optimize(s),
                             trainlet_session_save(s, true, TRAINLET_FORMAT_ORT_2),
                             trainlet_session_export(s, NULL, false)};
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
    check(statuses[i] == STATUS_CHECKPOINT_MISMATCH, "call %zu gives %s", i, status_code(statuses[i]));
  check(strcmp(trainlet_session_error(s)->text, sentence) == 0, "the last says '%s'", trainlet_session_error(s)->text);
}

static bool copy_all(TrainletSession *from, TrainletSession *to) {
  size_t count = trainlet_session_element_count(from, false);
  if (!check(count == trainlet_session_element_count(to, false), "the sessions have other parameters")) return false;
  float *values = malloc(count * sizeof(float) + 1);
  trainlet_session_copy_out(from, false, values);
  trainlet_session_copy_in(to, false, values);
  free(values);
  return true;
}

static void a_nominal_checkpoint_waits_for_values(const void *argument) {
  OrtSet set;
  size_t bytes;
  TrainletSession *whole = NULL, *s = NULL;
  if (ort_set_open(&set, "ort_testdata") && (whole = ort_set_session(&set, NULL, 0))) {
    const void *nominal = ort_set_file(&set, "nominal_checkpoint", &bytes);
    s = nominal ? ort_set_session(&set, nominal, bytes) : NULL;
  }
  if (s) {
    hold_refusals(s);
    if (copy_all(whole, s))
      for (int i = 0; i < 2; i++) {
        double want = ort_set_step(&set, whole), got = ort_set_step(&set, s);
        check(got == want, "loss %d is %.9g, with the whole checkpoint %.9g", i, got, want);
      }
    trainlet_session_free(s);
  }
  if (whole) trainlet_session_free(whole);
  ort_set_close(&set);
}

/* The option: names and types as ONNX Runtime's tool writes them, frozen ones (running statistics here) too. */
static void artifacts_can_be_nominal(const void *argument) {
  GoldenRun run;
  TrainletSession *whole = NULL, *s = NULL;
  size_t bytes;
  if (golden_run_open(&run, "cnn_bn") && (whole = golden_session(&run, NULL, 0)) &&
      check(trainlet_artifacts_set(run.artifacts, "nominal", "1") == STATUS_OK &&
                trainlet_artifacts_build(run.artifacts) == STATUS_OK,
            "%s", trainlet_artifacts_error(run.artifacts)->text)) {
    trainlet_artifacts_bytes(run.artifacts, TRAINLET_CHECKPOINT, &bytes);
    check(bytes < 2000, "the nominal checkpoint has %zu bytes", bytes);
    s = golden_session(&run, NULL, 0);
  }
  if (s) {
    check(trainlet_session_step(s) == STATUS_CHECKPOINT_MISMATCH, "it steps without values");
    if (copy_all(whole, s))
      for (int step = 0; step < 3; step++) {
        double want = golden_step(&run, whole, step), got = golden_step(&run, s, step);
        check(got == want, "loss %d is %.9g, with the whole checkpoint %.9g", step, got, want);
      }
    trainlet_session_free(s);
  }
  if (whole) {
    check(trainlet_artifacts_set(run.artifacts, "nominal", "yes") == STATUS_INVALID_ARGUMENT, "nominal = yes is taken");
    trainlet_session_free(whole);
  }
  golden_run_close(&run);
}

/* ---- hostile bytes ---- */

static bool refused(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Checkpoint c;
  Status status = ort_checkpoint_read(bytes, count, NULL, &arena, &error, &c);
  check(status == error.status && (status == STATUS_OK || error.text[0]), "a refusal has no sentence");
  check(status == STATUS_OK || status == STATUS_CHECKPOINT_CORRUPT || status == STATUS_UNSUPPORTED_VERSION ||
            status == STATUS_CHECKPOINT_MISMATCH || status == STATUS_OUT_OF_MEMORY,
        "it is %s", status_code(status));
  arena_free(&arena);
  return status != STATUS_OK;
}

/* Small, with every part: tensors, moments, properties. */
static void write_sample(Block *block, size_t *bytes, Error *error) {
  static const float w[6] = {1, 2, 3, 4, 5, 6};
  static const int64_t steps[1] = {1};
  CheckpointTensor trainable[] = {{"w", DTYPE_FLOAT32, SHAPE(2, 3), w, 24}, {"b", DTYPE_FLOAT32, {0}, w, 4}};
  CheckpointTensor frozen[] = {{"mean", DTYPE_FLOAT32, SHAPE(3), w, 12}, {"count", DTYPE_INT64, SHAPE(1), steps, 8}};
  CheckpointMoments moments[] = {
      {"w", {{"momentum0", DTYPE_FLOAT32, SHAPE(6), w, 24}, {"momentum1", DTYPE_FLOAT32, SHAPE(6), w, 24}}, 2}};
  Property properties[] = {{"epoch", PROPERTY_INT, .i = -3},
                           {"best", PROPERTY_FLOAT, .f = 0.25f},
                           {"label", PROPERTY_STRING, .s = "größer"}};
  const Checkpoint c = {.trainable = trainable,
                        .frozen = frozen,
                        .trainable_count = 2,
                        .frozen_count = 2,
                        .has_optimizer = true,
                        .step = 41,
                        .learning_rate = 0.05f,
                        .moments = moments,
                        .moment_count = 1,
                        .properties = properties,
                        .property_count = 3};
  check(ort_checkpoint_write(&c, 2, error, block, bytes) == STATUS_OK, "%s", error->text);
}

/* Bit by bit, byte by byte cut off, and with one more. */
static void a_damaged_file_is_told_by_its_checksum(const void *argument) {
  Error error = {0};
  Block block = {0};
  size_t count = 0;
  write_sample(&block, &count, &error);
  uint8_t *bytes = calloc(1, count + 1);
  memcpy(bytes, block.data, count);
  check(!refused(bytes, count) && refused(bytes, count + 1), "it is refused, or not with one byte more");
  for (size_t length = 0; length < count; length++)
    check(refused(bytes, length), "its first %zu bytes are read", length);
  for (size_t i = 0; i < count * 8; i++) {
    bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    if (i / 8 < 4 || i / 8 >= 8)
      check(refused(bytes, count), "with bit %zu turned it is read", i); /* bytes 4 to 7 say what it is */
    else check(!ort_checkpoint_is(bytes, count), "with bit %zu turned it is still ONNX Runtime's", i);
    bytes[i / 8] ^= (uint8_t)(1 << i % 8);
  }
  free(bytes);
  block_free(&block);
}

static void hostile_bytes_get_a_sentence(const void *path) {
  Arena arena = {0};
  Error error = {0};
  Block block = {0};
  size_t count = 0;
  if (!path) write_sample(&block, &count, &error);
  if (!path) memset((uint8_t *)block.data + 8, 0, 8); /* the mark of the checksum, which would refuse them all */
  const uint8_t *bytes = path ? (const uint8_t *)file_read(&arena, path, &count) : block.data;
  if (check(bytes != NULL, "%s cannot be read", (const char *)path)) hostile_try(bytes, count, refused);
  block_free(&block);
  arena_free(&arena);
}

/* A session refuses what the reader lets through, or trains with it. */
static OrtSet *session_set; /* a HostileReader has no room for it */

static bool refused_by_a_session(const uint8_t *bytes, size_t count) {
  static const char *const files[] = {"training_model.ort", "eval_model.ort", "optimizer_model.ort"};
  TrainletSession *s = trainlet_session_new();
  Status status = trainlet_session_load(s, TRAINLET_CHECKPOINT, bytes, count);
  for (int part = TRAINLET_TRAIN; status == STATUS_OK && part <= TRAINLET_OPTIMIZER; part++) {
    size_t length;
    const void *model = ort_set_file(session_set, files[part], &length);
    status = trainlet_session_load(s, (TrainletPart)part, model, length);
  }
  if (status == STATUS_OK) status = trainlet_session_ready(s);
  check(status == STATUS_OK || trainlet_session_error(s)->text[0], "a refusal has no sentence");
  void *labels = status == STATUS_OK ? trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, (int64_t[]){8}) : NULL;
  if (status == STATUS_OK && !labels) status = trainlet_session_error(s)->status; /* it has become nominal */
  if (status == STATUS_OK) {
    memset(labels, 0, 8 * sizeof(int64_t));
    memset(trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){8, 10}), 0, 8 * 10 * sizeof(float));
    status = trainlet_session_step(s);
    check(status == STATUS_OK || trainlet_session_error(s)->text[0], "a step fails without a sentence");
    if (trainlet_session_save(s, true, TRAINLET_FORMAT_ORT_2) != STATUS_NON_FINITE_LOSS)
      golden_ok(s, trainlet_session_error(s)->status, "save");
  }
  trainlet_session_free(s);
  return status != STATUS_OK;
}

static void hostile_bytes_meet_a_session(const void *argument) {
  OrtSet set;
  size_t count;
  if (ort_set_open(&set, "ort_testdata_ortformat")) {
    const uint8_t *bytes = ort_set_file(&set, "checkpoint", &count);
    session_set = &set;
    if (bytes) hostile_try(bytes, count, refused_by_a_session);
  }
  ort_set_close(&set);
}

/* A vector of a million offsets that all lead to one tensor must not cost a million copies of it. */
static void shared_offsets_do_not_multiply(const void *argument) {
  enum { OFFSETS = 1 << 20, RAW = 1 << 20, HEAD = 80 };
  uint8_t *bytes = calloc(1, HEAD + 4 * OFFSETS + 64 + RAW);
  const struct {
    uint32_t at, value;
  } words[] = {
      {0, 24},
      {4, 0x4354444F}, /* root at 24, "ODTC" */
      {12, 12 | 12 << 16},
      {16, 4 | 8 << 16},
      {24, 12},
      {28, 2},
      {32, 16}, /* vtable at 12: version at 4, module at 8 → 48 */
      {40, 6 | 8 << 16},
      {44, 4},
      {48, 8},
      {52, 8},
      {60, OFFSETS}, /* vtable at 40: trainable at 4 → 60 */
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) memcpy(bytes + words[i].at, &words[i].value, 4);
  uint32_t table = 64 + 4 * OFFSETS + 32, vtable = table - 24;
  for (uint32_t i = 0; i < OFFSETS; i++) memcpy(bytes + 64 + 4 * i, &(uint32_t){table - (64 + 4 * i)}, 4);
  const uint16_t fields[] = {14, 12, 0, 0, 0, 4, 8}; /* type at 4, raw data at 8 */
  const uint32_t tensor[] = {24, DTYPE_UINT8, 4, RAW};
  memcpy(bytes + vtable, fields, sizeof fields);
  memcpy(bytes + table, tensor, sizeof tensor);
  Arena arena = {0};
  Error error = {0};
  Checkpoint c;
  Status status = ort_checkpoint_read(bytes, table + 16 + RAW, NULL, &arena, &error, &c);
  check(status == STATUS_CHECKPOINT_CORRUPT, "it is %s: %s", status_code(status), error.text);
  check(arena.used_bytes < (size_t)1 << 28, "it took %zu bytes", arena.used_bytes);
  arena_free(&arena);
  free(bytes);
}

int main(void) {
  test_run("every_format_comes_back (own)", every_format_comes_back, &formats[0]);
  test_run("every_format_comes_back (version 1)", every_format_comes_back, &formats[1]);
  test_run("every_format_comes_back (version 2)", every_format_comes_back, &formats[2]);
  TEST(refused_properties_change_nothing);
  TEST(versions_are_told_apart);
  TEST(plain_sgd_has_moments_of_zeros);
  TEST(a_nominal_checkpoint_waits_for_values);
  TEST(artifacts_can_be_nominal);
  test_run("hostile_bytes_get_a_sentence (with every part)", hostile_bytes_get_a_sentence, NULL);
  test_run("hostile_bytes_get_a_sentence (ONNX Runtime's)", hostile_bytes_get_a_sentence,
           "tests/golden/data/ort/ort_testdata_ortformat/checkpoint");
  test_run("hostile_bytes_get_a_sentence (nominal)", hostile_bytes_get_a_sentence,
           "tests/golden/data/ort/ort_testdata/nominal_checkpoint");
  TEST(a_damaged_file_is_told_by_its_checksum);
  TEST(hostile_bytes_meet_a_session);
  TEST(shared_offsets_do_not_multiply);
  return test_finish();
}
