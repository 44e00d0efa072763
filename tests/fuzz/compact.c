/* Fuzzes the reader of compact files with bytes as they come, and with a head that fits, so that the checksum is no
 * wall. What it accepts is written again and comes back as the same bytes, and a session and a trainer made of it
 * train. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/crc32.h"
#include "compact/compact.h"
#include "fuzz.h"

static void hold_round_trip(const Compact *c) {
  Arena arena = {0};
  Error error = {0};
  Block first = {0}, second = {0};
  size_t bytes, again_bytes;
  Compact again;
  hold(compact_write(c, TRAINLET_WEIGHTS_EXACT, &error, &first, &bytes) == STATUS_OK);
  hold(compact_read(first.data, bytes, false, &arena, &error, &again) == STATUS_OK);
  hold(compact_write(&again, TRAINLET_WEIGHTS_EXACT, &error, &second, &again_bytes) == STATUS_OK);
  hold(bytes == again_bytes && memcmp(first.data, second.data, bytes) == 0);
  block_free(&first);
  block_free(&second);
  arena_free(&arena);
}

enum { BATCH = 2 };

/* True if a step is within the limits. */
static bool train(const uint8_t *bytes, size_t count) {
  const FuzzFeed how = {.batch = BATCH, .values = FEED_TAME};
  TrainletSession *s = trainlet_session_new();
  trainlet_session_limit(s, 1 << 28);
  trainlet_session_limit_work(s, 1e8);
  void *place = trainlet_session_file(s, count);
  if (place && count) memcpy(place, bytes, count);
  bool good = place && trainlet_session_load(s, TRAINLET_COMPACT, place, count) == STATUS_OK &&
              trainlet_session_ready(s) == STATUS_OK && fuzz_feed(s, TRAINLET_TRAIN, &how);
  bool ran = good && trainlet_session_run(s, TRAINLET_TRAIN, NULL) == STATUS_OK;
  if (ran) {
    trainlet_session_optimize(s);
    fuzz_save(s, TRAINLET_FORMAT_TRAINLET);
    trainlet_session_export(s, NULL, false);
  }
  hold_sentence(trainlet_session_error(s));
  trainlet_session_free(s);
  return ran;
}

static void train_alone(const Graph *g, const uint8_t *bytes, size_t count) {
  TrainletTrainer *t = trainlet_trainer_new();
  for (int i = 0; i < g->input_count; i++)
    for (int k = 0; k < g->inputs[i]->shape.rank; k++)
      if (dim_is_symbol(g->inputs[i]->shape.dim[k]))
        trainlet_trainer_dim(t, graph_symbol_name(g, g->inputs[i]->shape.dim[k]), BATCH);
  if (trainlet_trainer_load(t, bytes, count) == STATUS_OK) trainlet_trainer_step(t);
  hold_sentence(trainlet_trainer_error(t));
  trainlet_trainer_free(t);
}

static void read(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Compact compact;
  Status status = compact_read(bytes, count, false, &arena, &error, &compact);
  hold(status == error.status && (status == STATUS_OK || error.text[0]));
  hold(status != STATUS_INTERNAL);
  if (status == STATUS_OK) {
    hold_round_trip(&compact);
    if (train(bytes, count)) train_alone(compact.train, bytes, count);
  }
  arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  read(bytes, count);
  if (count < sizeof(CompactHead)) return 0;
  uint8_t *mended = malloc(count);
  memcpy(mended, bytes, count);
  uint32_t checksum = crc32_of(mended + COMPACT_CHECKED, count - COMPACT_CHECKED);
  memcpy(mended, compact_magic, sizeof compact_magic);
  mended[sizeof compact_magic] = COMPACT_VERSION;
  memcpy(mended + offsetof(CompactHead, checksum), &checksum, sizeof checksum);
  read(mended, count);
  free(mended);
  return 0;
}
