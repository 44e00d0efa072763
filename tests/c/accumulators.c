/* Accumulators: a training model whose gradient accumulators are not as a tool writes them is refused before anything
 * runs. */
#include <string.h>

#include "check.h"
#include "golden_run.h"
#include "onnx/onnx.h"
#include "ops/accumulator.h"

/* Spoils the two last accumulators of a training graph. */
typedef void Spoil(Node *before, Node *last);

static void without_flag(Node *before, Node *last) { last->in_count = 2; }
static void flag_from_a_node(Node *before, Node *last) { last->in[2] = before->out[0]; }
static void one_buffer_for_two(Node *before, Node *last) {
  last->in[0] = before->in[0];
  last->in[1] = before->in[1];
}
static void buffer_from_a_node(Node *before, Node *last) { last->in[0] = last->in[1]; }

/* The recipe's training model, spoiled, as bytes. */
static bool spoiled_model(const GoldenRun *run, Spoil *spoil, Block *out, size_t *out_bytes) {
  Arena arena = {0};
  Error error = {0};
  size_t bytes;
  const void *model = trainlet_artifacts_bytes(run->artifacts, TRAINLET_TRAIN, &bytes);
  Graph *g = onnx_read(model, bytes, NULL, &arena, &error);
  Node *last = NULL, *before = NULL;
  for (int i = 0; g && i < g->node_count; i++)
    if (op_is_accumulator(g->nodes[i])) before = last, last = g->nodes[i];
  bool good = check(before != NULL, "there are not two accumulators: %s", error.text);
  if (good) spoil(before, last);
  good = good && check(onnx_write(g, false, out, out_bytes) == STATUS_OK, "%s", error.text);
  arena_free(&arena);
  return good;
}

static void is_refused(const void *argument) {
  GoldenRun run;
  Block block = {0};
  size_t bytes, others;
  if (golden_run_open(&run, "mlp_momentum") && spoiled_model(&run, *(Spoil *const *)argument, &block, &bytes)) {
    TrainletSession *s = trainlet_session_new();
    Status status = trainlet_session_load(s, TRAINLET_TRAIN, block.data, bytes);
    for (int part = TRAINLET_EVAL; status == STATUS_OK && part <= TRAINLET_CHECKPOINT; part++) {
      const void *data = trainlet_artifacts_bytes(run.artifacts, (TrainletPart)part, &others);
      status = trainlet_session_load(s, (TrainletPart)part, data, others);
    }
    if (status == STATUS_OK) status = trainlet_session_ready(s);
    check(status == STATUS_INVALID_MODEL, "status %d: %s", (int)status, trainlet_session_error(s)->text);
    check(strstr(trainlet_session_error(s)->text, "InPlaceAccumulatorV2 '") != NULL, "the sentence names no node: %s",
          trainlet_session_error(s)->text);
    trainlet_session_free(s);
  }
  block_free(&block);
  golden_run_close(&run);
}

int main(void) {
  static Spoil *const spoils[] = {without_flag, flag_from_a_node, one_buffer_for_two, buffer_from_a_node};
  test_run("is_refused (no flag)", is_refused, &spoils[0]);
  test_run("is_refused (a flag that a node computes)", is_refused, &spoils[1]);
  test_run("is_refused (one buffer for two)", is_refused, &spoils[2]);
  test_run("is_refused (a buffer that a node computes)", is_refused, &spoils[3]);
  return test_finish();
}
