/* Decode: a language model's tokens one after the other give the scores of all at once; what is kept, and what is
 * refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "json.h"
#include "session/session.h"

enum { WORDS = 40, SIZE = 16, TOKENS = 7 };
static const int64_t tokens[TOKENS] = {3, 1, 4, 1, 5, 9, 2};
#define PAST "past_key_values.0.key\npast_key_values.0.value\npast_key_values.1.key\npast_key_values.1.value"
#define FETCHES "logits\npresent.0.key\npresent.0.value\npresent.1.key\npresent.1.value"

static TrainletSession *open_model(void) {
  Arena arena = {0};
  size_t count;
  const char *bytes = file_read(&arena, "tests/golden/data/generate/llama_gqa.onnx", &count);
  TrainletSession *s = trainlet_session_new();
  if (!check(bytes && trainlet_session_load(s, TRAINLET_MODEL, bytes, count) == STATUS_OK &&
                 trainlet_session_ready(s) == STATUS_OK,
             "%s", bytes ? trainlet_session_error(s)->text : "it cannot be read"))
    exit(test_finish());
  arena_free(&arena);
  return s;
}

static void feed_ints(TrainletSession *s, const char *name, const int64_t *from, int64_t count) {
  int64_t *to = trainlet_session_feed(s, TRAINLET_MODEL, name, DTYPE_INT64, 2, (int64_t[]){1, count});
  if (check(to != NULL, "%s", trainlet_session_error(s)->text)) memcpy(to, from, (size_t)count * sizeof *to);
}

/* Tokens from `from` up to `to`, behind those before, or an empty past. */
static void feed(TrainletSession *s, int from, int to) {
  static const char *const past[] = {"past_key_values.0.key", "past_key_values.0.value", "past_key_values.1.key",
                                     "past_key_values.1.value"};
  int64_t ones[TOKENS];
  for (int i = 0; i < TOKENS; i++) ones[i] = 1;
  feed_ints(s, "input_ids", tokens + from, to - from);
  feed_ints(s, "attention_mask", ones, to);
  for (int i = 0; i < 4 && from == 0; i++)
    check(trainlet_session_feed(s, TRAINLET_MODEL, past[i], DTYPE_FLOAT32, 4, (int64_t[]){1, 1, 0, SIZE}) != NULL, "%s",
          trainlet_session_error(s)->text);
}

static Status decode(TrainletSession *s, int length, bool goes_on) {
  return trainlet_session_decode(
      s, TRAINLET_MODEL,
      &(TrainletDecode){.fetches = FETCHES, .past = PAST, .axis = 2, .length = length, .goes_on = goes_on});
}

/* The scores after each of the tokens, of all at once. */
static void scores_of_all(TrainletSession *s, float *scores) {
  feed(s, 0, TOKENS);
  bool ran = trainlet_session_run(s, TRAINLET_MODEL, "logits") == STATUS_OK;
  const TrainletTensor *y = trainlet_session_output(s, 0);
  if (check(ran && y->count == TOKENS * WORDS, "%s", trainlet_session_error(s)->text))
    memcpy(scores, y->data, y->bytes);
}

static void expect(TrainletSession *s, const float *wanted, int token) {
  const TrainletTensor *y = trainlet_session_output(s, 0);
  bool row = y && trainlet_session_output_count(s) == 1 && y->rank == 1 && y->dims[0] == WORDS && y->count == WORDS &&
             y->bytes == WORDS * sizeof *wanted;
  if (!check(row, "%s", y ? "the output is no row" : trainlet_session_error(s)->text)) return;
  for (int i = 0; i < WORDS; i++)
    if (!check(fabsf(((const float *)y->data)[i] - wanted[token * WORDS + i]) < 1e-4f, "token %d, score %d", token, i))
      return;
}

static void tokens_go_on_from_what_is_kept(const void *argument) {
  TrainletSession *s = open_model();
  float wanted[TOKENS * WORDS];
  scores_of_all(s, wanted);
  for (int round = 0; round < 2; round++) {
    feed(s, 0, 3);
    check(decode(s, 3, false) == STATUS_OK, "%s", trainlet_session_error(s)->text);
    expect(s, wanted, 2);
    for (int i = 3; i < TOKENS; i++) {
      feed(s, i, i + 1);
      check(decode(s, i + 1, true) == STATUS_OK, "%s", trainlet_session_error(s)->text);
      expect(s, wanted, i);
    }
  }
  trainlet_session_free(s);
}

static void a_row_before_the_last(const void *argument) {
  TrainletSession *s = open_model();
  float wanted[TOKENS * WORDS];
  scores_of_all(s, wanted);
  for (int from_end = 0; from_end < TOKENS; from_end++) {
    feed(s, 0, TOKENS);
    trainlet_session_decode(s, TRAINLET_MODEL,
                            &(TrainletDecode){.fetches = "logits", .past = "", .from_end = from_end});
    expect(s, wanted, TOKENS - 1 - from_end);
  }
  trainlet_session_free(s);
}

/* More room than there are tokens, then less. */
static void zeros_are_before_what_is_kept(const void *argument) {
  TrainletSession *s = open_model();
  feed(s, 0, 3);
  trainlet_session_run(s, TRAINLET_MODEL, "present.0.key");
  float present[3 * SIZE];
  memcpy(present, trainlet_session_output(s, 0)->data, sizeof present);
  for (int room = 0; room < 6; room++) {
    feed(s, 0, 3);
    check(decode(s, room, false) == STATUS_OK, "%s", trainlet_session_error(s)->text);
    const Feed *f = session_find_feed(s, &s->models[MODEL_INFERENCE], "past_key_values.0.key");
    int kept = room < 3 ? room : 3, zeros = room - kept;
    const float *at = f->block.data;
    check(f->kept && !f->fed && f->shape.dim[2] == room, "its shape");
    for (int i = 0; i < zeros * SIZE; i++) check(at[i] == 0, "number %d is no zero", i);
    check(memcmp(at + zeros * SIZE, present + (3 - kept) * SIZE, (size_t)(kept * SIZE) * sizeof *at) == 0, "its end");
  }
  trainlet_session_free(s);
}

static void refuse(TrainletSession *s, TrainletDecode d, const char *words) {
  feed(s, 0, 3);
  Status status = trainlet_session_decode(s, TRAINLET_MODEL, &d);
  check(status != STATUS_OK && strstr(trainlet_session_error(s)->text, words), "it says: %s",
        trainlet_session_error(s)->text);
  check(trainlet_session_output_count(s) == 0, "there is an output");
}

static void what_is_refused(const void *argument) {
  TrainletSession *s = open_model();
  feed_ints(s, "input_ids", tokens, 1), feed_ints(s, "attention_mask", tokens, 1);
  check(decode(s, 1, true) == STATUS_INVALID_ARGUMENT, "nothing is kept yet");
  TrainletDecode good = {.fetches = FETCHES, .past = PAST, .axis = 2, .length = 3}, d = good;
  d.goes_on = true, refuse(s, d, "nothing is kept for input 'past_key_values.0.key'"), d = good;
  d.from_end = 3, refuse(s, d, "has 3 rows, the one 3 before the last was wanted"), d = good;
  d.from_end = -1, refuse(s, d, "has 3 rows"), d = good;
  d.axis = -1, refuse(s, d, "a past of 3 along axis -1 was wanted"), d = good;
  d.axis = 4, refuse(s, d, "is nothing that input"), d = good;
  d.axis = 3, refuse(s, d, "wants shape"), d = good;
  d.length = -1, refuse(s, d, "a past of -1"), d = good;
  d.past = "past_key_values.0.key", refuse(s, d, "4 outputs came for 1 inputs of the past"), d = good;
  d.past = "nothing", refuse(s, d, "there is no input 'nothing'"), d = good;
  d.past = "input_ids", d.fetches = "logits\npresent.0.key", refuse(s, d, "wants int64"), d = good;
  d.past = "past_key_values.0.key", d.fetches = "logits\npast_key_values.0.key", refuse(s, d, "is nothing that input");
  d = good;
  feed(s, 0, 3), check(decode(s, 3, false) == STATUS_OK, "%s", trainlet_session_error(s)->text);
  feed(s, 0, 3), trainlet_session_run(s, TRAINLET_MODEL, NULL); /* takes the inputs' room */
  feed(s, 3, 4), check(decode(s, 4, true) == STATUS_INVALID_ARGUMENT, "it goes on with what another run was fed");
  trainlet_session_free(s);
}

int main(void) {
  TEST(tokens_go_on_from_what_is_kept);
  TEST(a_row_before_the_last);
  TEST(zeros_are_before_what_is_kept);
  TEST(what_is_refused);
  return test_finish();
}
