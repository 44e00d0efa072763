/* Fuzzes the checkpoint reader with bytes as they come, and as the body of a whole envelope, so that the checksum is no
 * wall. */
#include <stdlib.h>

#include "checkpoint/checkpoint.h"
#include "fuzz.h"

static void read(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Checkpoint checkpoint, again;
  Block block = {0};
  size_t written;
  Status status = trainlet_checkpoint_read(bytes, count, &arena, &error, &checkpoint);
  hold(status == error.status && (status == STATUS_OK || error.text[0]));
  if (status == STATUS_OK) {
    hold(trainlet_checkpoint_write(&checkpoint, &error, &block, &written) == STATUS_OK);
    hold(trainlet_checkpoint_read(block.data, written, &arena, &error, &again) == STATUS_OK);
    hold(again.trainable_count == checkpoint.trainable_count && again.moment_count == checkpoint.moment_count);
  }
  block_free(&block);
  arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  uint8_t *whole = malloc(count + FUZZ_ENVELOPE);
  read(bytes, count);
  read(whole, fuzz_envelope(bytes, count, whole));
  free(whole);
  return 0;
}
