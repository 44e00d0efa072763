/* Fuzzes inference of a hostile model: whatever inputs it declares (tensors, strings, sequences, optionals) are fed,
 * and it is run with batches of 2, 3, 0 and 1. A large one is read in place, as a file of the session: a seed of more
 * than 64 KB in one initializer leads there. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LIMIT_BYTES = 16 << 20, IN_PLACE_BYTES = 1 << 16 };

/* Each length of input gets other values. */
static const FuzzFeed runs[] = {{2, 2, FEED_ONES, 0}, {3, 1, FEED_TAME, 0}, {0, 0, FEED_TAME, 0}, {1, 2, FEED_WILD, 0}};
enum { RUNS = sizeof runs / sizeof *runs };

/* Every byte of the results is there; strings end. */
static size_t read_outputs(const TrainletSession *s) {
  size_t sum = 0;
  for (int i = 0; i < trainlet_session_output_count(s); i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    for (size_t k = 0; t->rank >= 0 && t->type != DTYPE_STRING && k < t->bytes; k++)
      sum += ((const uint8_t *)t->data)[k];
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
  for (int run = 0; run < RUNS && good; run++) {
    FuzzFeed how = runs[run];
    how.seed = (uint32_t)count;
    if (fuzz_feed(s, TRAINLET_MODEL, &how) && trainlet_session_run(s, TRAINLET_MODEL, NULL) == STATUS_OK)
      seen += read_outputs(s);
    hold_sentence(trainlet_session_error(s));
    hold(trainlet_session_json(s) != NULL);
  }
  hold_sentence(trainlet_session_error(s));
  trainlet_session_free(s);
  return 0;
}
