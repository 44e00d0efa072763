/* Fuzzes the checkpoint reader with bytes as they come, and as the body of a whole envelope, so that the checksum is no
 * wall. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/crc32.h"
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

/* The body's length is written in five bytes, as a varint may be. */
static size_t wrap(const uint8_t *body, size_t count, uint8_t *out) {
  static const uint8_t head[] = {0x0D, 'T', 'L', 'C', 'K', 0x10, 1, 0x1D};
  uint32_t checksum = crc32_of(body, count);
  uint8_t *at = out;
  memcpy(at, head, sizeof head);
  memcpy(at + sizeof head, &checksum, sizeof checksum);
  at += sizeof head + sizeof checksum;
  *at++ = 0x22;
  for (int i = 0; i < 5; i++) *at++ = (uint8_t)((count >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0));
  if (count) memcpy(at, body, count);
  return (size_t)(at - out) + count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  uint8_t *whole = malloc(count + 32);
  read(bytes, count);
  read(whole, wrap(bytes, count, whole));
  free(whole);
  return 0;
}
