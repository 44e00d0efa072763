/* Fuzzes the reader of ONNX Runtime's checkpoints, with a second file at hand; what it accepts it writes, in both
 * versions, and reads back the same. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "fuzz.h"

enum { FILE_BYTES = 64 };

static void hold_round_trip(const Checkpoint *c, int version) {
  Arena arena = {0};
  Error error = {0};
  Block block = {0}, second = {0};
  size_t written, again_written;
  Checkpoint again;
  hold(ort_checkpoint_write(c, version, &error, &block, &written) == STATUS_OK);
  hold(ort_checkpoint_read(block.data, written, NULL, &arena, &error, &again) == STATUS_OK);
  hold(ort_checkpoint_write(&again, version, &error, &second, &again_written) == STATUS_OK);
  hold(written == again_written && memcmp(block.data, second.data, written) == 0);
  block_free(&block);
  block_free(&second);
  arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Checkpoint checkpoint;
  External external = {0};
  memset(external_add(&external, ORT_CHECKPOINT_DATA, FILE_BYTES, &arena), 1, FILE_BYTES);
  Status status = ort_checkpoint_read(bytes, count, &external, &arena, &error, &checkpoint);
  hold(status == error.status && (status == STATUS_OK || error.text[0]));
  for (int version = 1; status == STATUS_OK && version <= 2; version++) hold_round_trip(&checkpoint, version);
  external_free(&external);
  arena_free(&arena);
  return 0;
}
