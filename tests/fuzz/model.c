/* Fuzzes the ONNX reader: whatever bytes come, it refuses them with a sentence or gives a graph that is read back as it was written. */
#include <stdlib.h>
#include <string.h>

#include "graph/onnx.h"
#include "train/optimizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void hold(bool good) {
  if (!good) abort();
}

static void write_and_read_again(const Graph *g) {
  Arena arena = {0};
  Error error = {0};
  Block block = {0};
  size_t written;
  hold(onnx_write(g, &block, &written) == STATUS_OK);
  Graph *again = onnx_read(block.data, written, &arena, &error);
  hold(again && error.status == STATUS_OK);
  const char *was = graph_print(g, &arena), *is = graph_print(again, &arena);
  hold(was && is && strcmp(was, is) == 0);
  block_free(&block);
  arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Optimizer optimizer;
  Graph *g = onnx_read(bytes, count, &arena, &error);
  hold((g == NULL) == (error.status != STATUS_OK));
  hold(g || (error.text[0] && error.status != STATUS_INTERNAL));
  if (g) write_and_read_again(g);
  error_clear(&error);
  Status status = optimizer_model_read(bytes, count, &error, &optimizer);
  hold(status == error.status);
  arena_free(&arena);
  return 0;
}
