/* Sequences, optionals and strings that are fed and given back, and hostile models of them: refused with a sentence, or
 * run. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hostile.h"
#include "json.h"
#include "session/session.h"

#define FOLDER "tests/golden/data/subgraphs/"
enum { LIMIT_BYTES = 8 << 20 };

static TrainletSession *open_model(const void *bytes, size_t count) {
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, LIMIT_BYTES);
  if (trainlet_session_load(s, TRAINLET_MODEL, bytes, count) == STATUS_OK) trainlet_session_ready(s);
  return s;
}

static TrainletSession *open_file(const char *path) {
  Arena arena = {0};
  size_t count;
  const char *bytes = file_read(&arena, path, &count);
  TrainletSession *s = bytes ? open_model(bytes, count) : NULL;
  arena_free(&arena);
  if (!check(s && trainlet_session_error(s)->status == STATUS_OK, "%s: %s", path,
             s ? trainlet_session_error(s)->text : "it cannot be read"))
    exit(test_finish());
  return s;
}

static void feed_floats(TrainletSession *s, const char *name, const float *from, int rank, const int64_t *dims) {
  float *to = trainlet_session_feed(s, TRAINLET_MODEL, name, DTYPE_FLOAT32, rank, dims);
  Shape shape = shape_of(rank, dims);
  if (check(to != NULL, "%s", trainlet_session_error(s)->text)) memcpy(to, from, shape_elements(&shape) * sizeof *to);
}

static void feed_int(TrainletSession *s, const char *name, int64_t x) {
  int64_t *to = trainlet_session_feed(s, TRAINLET_MODEL, name, DTYPE_INT64, 0, NULL);
  if (check(to != NULL, "%s", trainlet_session_error(s)->text)) *to = x;
}

static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* Item k of the sequence has k + 1 rows, from numbers[k] on. */
static void feed_rows(TrainletSession *s, int announced, int items) {
  check(trainlet_session_feed_sequence(s, TRAINLET_MODEL, "xs", announced) == STATUS_OK, "%s",
        trainlet_session_error(s)->text);
  for (int k = 0; k < items; k++) feed_floats(s, "xs", numbers + k, 2, (int64_t[]){k + 1, 2});
}

static void expect_floats(const TrainletTensor *t, const float *want, int rows) {
  bool shaped = t && t->rank == 2 && t->dims[0] == rows && t->dims[1] == 2 && t->type == DTYPE_FLOAT32;
  if (check(shaped, "an output of %d rows is of another shape", rows))
    check(memcmp(t->data, want, t->bytes) == 0, "an output of %d rows has other numbers", rows);
}

static void refused(TrainletSession *s, const char *words) {
  Status status = trainlet_session_run(s, TRAINLET_MODEL, NULL);
  check(status != STATUS_OK && strstr(trainlet_session_error(s)->text, words), "it says: %s",
        trainlet_session_error(s)->text);
}

static void a_sequence_and_an_optional_are_fed(const void *argument) {
  TrainletSession *s = open_file(FOLDER "list.onnx");
  for (int run = 0; run < 6; run++) {
    int count = 1 + run % 3, at = run % count;
    float rows[12];
    int row = 0;
    feed_rows(s, count, count);
    feed_int(s, "at", at - (run > 2 ? count : 0));
    if (run & 1) feed_floats(s, "bias", (float[]){100, 200}, 1, (int64_t[]){2});
    if (!check(trainlet_session_run(s, TRAINLET_MODEL, NULL) == STATUS_OK, "%s", trainlet_session_error(s)->text))
      break;
    const TrainletTensor *head = trainlet_session_output(s, 0);
    check(head->rank == TRAINLET_SEQUENCE && (int)head->count == count && trainlet_session_output_count(s) == count + 2,
          "the sequence has another length");
    for (int k = 0; k < count; k++) {
      int item = k == count - 1 ? at : k + (k >= at);
      expect_floats(trainlet_session_output(s, 1 + k), numbers + item, item + 1);
      for (int i = 0; i < 2 * (item + 1); i++, row++)
        rows[row] = numbers[item + i] + (run & 1 ? (row & 1 ? 200.0f : 100.0f) : 0);
    }
    expect_floats(trainlet_session_output(s, count + 1), rows, row / 2);
  }
  feed_rows(s, 2, 1), feed_int(s, "at", 0), refused(s, "input 'xs' was to be a sequence of 2 tensors, 1 came");
  feed_rows(s, 2, 2), feed_int(s, "at", 2), refused(s, "SequenceAt 'pick': position 2 is outside of a sequence of 2");
  feed_int(s, "at", 0), refused(s, "input 'xs' (a sequence of float32) is missing");
  feed_rows(s, 1, 1);
  check(!trainlet_session_feed(s, TRAINLET_MODEL, "xs", DTYPE_FLOAT32, 2, (int64_t[]){1, 2}) &&
            strstr(trainlet_session_error(s)->text, "more tensors came"),
        "one too many is taken");
  check(!trainlet_session_feed(s, TRAINLET_MODEL, "xs", DTYPE_FLOAT32, 2, (int64_t[]){1, 2}) &&
            strstr(trainlet_session_error(s)->text, "how many tensors it has must be said"),
        "no count is needed");
  check(trainlet_session_feed_sequence(s, TRAINLET_MODEL, "at", 1) == STATUS_INVALID_FEED &&
            trainlet_session_feed_sequence(s, TRAINLET_MODEL, "xs", -1) == STATUS_INVALID_FEED,
        "a tensor is a sequence");
  trainlet_session_free(s);
}

static void feed_text(TrainletSession *s, int64_t count, const char *text, size_t bytes) {
  char *to = trainlet_session_feed_text(s, TRAINLET_MODEL, "x", 1, &count, bytes);
  if (check(to != NULL, "%s", trainlet_session_error(s)->text) && bytes) memcpy(to, text, bytes);
  feed_floats(s, "n", (float[]){0.5f, -3}, 1, (int64_t[]){2});
}

static void strings_are_fed(const void *argument) {
  static const char text[] = "the\0Quick\0fox\0A", *const want[] = {"QUICK", "FOX", "0.5", "-3"};
  TrainletSession *s = open_file(FOLDER "text.onnx");
  feed_text(s, 4, text, sizeof text);
  if (check(trainlet_session_run(s, TRAINLET_MODEL, NULL) == STATUS_OK, "%s", trainlet_session_error(s)->text)) {
    const TrainletTensor *found = trainlet_session_output(s, 0), *y = trainlet_session_output(s, 1);
    check(found->count == 4 && memcmp(found->data, (uint8_t[]){1, 0, 0, 0}, 4) == 0, "another word is found");
    check(y->type == DTYPE_STRING && y->count == 4, "%zu strings come", y->count);
    for (int i = 0; i < 4 && y->count == 4; i++)
      check(strcmp(((const char *const *)y->data)[i], want[i]) == 0, "string %d is '%s'", i,
            ((const char *const *)y->data)[i]);
  }
  feed_text(s, 3, text, sizeof text), refused(s, "input 'x' has 3 elements, its text 4 strings");
  feed_text(s, 5, text, sizeof text), refused(s, "input 'x' has 5 elements, its text 4 strings");
  feed_text(s, 4, text, sizeof text - 1), refused(s, "input 'x': its text has no end");
  feed_text(s, 1, text, 0), refused(s, "input 'x' has 1 elements, its text 0 strings");
  trainlet_session_free(s);
}

/* ---- hostile models: whatever they declare is fed, once ---- */

static bool feed_declared(TrainletSession *s, const Value *v) {
  DType type = v->declared ? v->declared->type : v->type;
  Shape shape = v->declared ? v->declared->shape : v->shape;
  bool sequence = v->declared && v->declared->sequence;
  if (shape.rank < 0) shape = SHAPE(2);
  for (int i = 0; i < shape.rank; i++)
    if (dim_is_symbol(shape.dim[i])) shape.dim[i] = 2;
  if (sequence && trainlet_session_feed_sequence(s, TRAINLET_MODEL, v->name, 2) != STATUS_OK) return false;
  for (int k = 0; k <= sequence; k++) {
    size_t count;
    if (!shape_count(&shape, &count) || count > LIMIT_BYTES) return false;
    char *to = type == DTYPE_STRING
                 ? trainlet_session_feed_text(s, TRAINLET_MODEL, v->name, shape.rank, shape.dim, count)
                 : trainlet_session_feed(s, TRAINLET_MODEL, v->name, (int)type, shape.rank, shape.dim);
    if (!to) return false;
    memset(to, 0, type == DTYPE_STRING ? count : count * dtype_bytes(type));
  }
  return true;
}

static bool model_refused(const uint8_t *bytes, size_t count) {
  TrainletSession *s = open_model(bytes, count);
  const Graph *g = trainlet_session_error(s)->status == STATUS_OK ? s->models[MODEL_INFERENCE].graph : NULL;
  bool fed = g != NULL;
  for (int i = 0; fed && i < g->input_count; i++) fed = feed_declared(s, g->inputs[i]);
  if (fed) trainlet_session_run(s, TRAINLET_MODEL, NULL);
  if (g) check(trainlet_session_json(s) != NULL, "it has no JSON");
  const Error *error = trainlet_session_error(s);
  bool refused = error->status != STATUS_OK;
  check(!refused || (error->text[0] && error->status != STATUS_INTERNAL), "a refusal has no sentence: %s", error->text);
  trainlet_session_free(s);
  return refused;
}

static void hostile_models(const void *path) {
  Arena arena = {0};
  size_t count;
  const char *bytes = file_read(&arena, path, &count);
  if (check(bytes != NULL, "it cannot be read")) hostile_try((const uint8_t *)bytes, count, model_refused);
  arena_free(&arena);
}

int main(void) {
  TEST(a_sequence_and_an_optional_are_fed);
  TEST(strings_are_fed);
  test_run("hostile models of sequences", hostile_models, FOLDER "list.onnx");
  test_run("hostile models of strings", hostile_models, FOLDER "text.onnx");
  return test_finish();
}
