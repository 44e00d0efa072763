/* Ort format: ONNX Runtime's .ort models are sorted and unfused into ordinary graphs, and hostile ones get a sentence.
 */
#include <string.h>

#include "check.h"
#include "onnx/onnx.h"
#include "hostile.h"
#include "json.h"
#include "ops/ops.h"
#include "train/optimizer.h"

#define SET "tests/golden/data/ort/ort_testdata_ortformat/"

static const Node *node_of(const Graph *g, const Op *op) {
  for (int i = 0; i < g->node_count; i++)
    if (g->nodes[i]->op == op) return g->nodes[i];
  return NULL;
}

static void fused_nodes_come_apart(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  size_t count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, SET "eval_model.ort", &count);
  Graph *g = bytes ? onnx_read(bytes, count, NULL, &arena, &error) : NULL;
  if (check(g != NULL, "%s", error.text)) {
    const Node *gemm = node_of(g, &op_gemm), *relu = node_of(g, &op_relu);
    check(gemm && relu && gemm->out[0] == relu->in[0] && gemm->attr_count == 4,
          "FusedGemm did not become Gemm and Relu: %s", graph_print(g, &arena));
    check(g->node_count == 5 && g->input_count == 6 && g->output_count == 1, "the graph is %s", graph_print(g, &arena));
    check(dim_is_symbol(g->inputs[0]->shape.dim[0]) &&
              strcmp(graph_symbol_name(g, g->inputs[0]->shape.dim[0]), "batch_size") == 0,
          "the batch's size has lost its name");
  }
  arena_free(&arena);
}

/* An activation that is no plain one must not be dropped or guessed: the fused operator is what we lack. */
static void unknown_activations_are_refused(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  size_t count, at = 0;
  uint8_t *bytes = (uint8_t *)file_read(&arena, SET "eval_model.ort", &count);
  while (bytes && at + 8 < count && memcmp(bytes + at, "\4\0\0\0Relu", 8) != 0) at++;
  if (check(bytes && at + 8 < count, "the file has no activation")) {
    memcpy(bytes + at + 4, "Selu", 4);
    check(!onnx_read(bytes, count, NULL, &arena, &error) && strstr(error.text, "activation is 'Selu', which we lack"),
          "it says '%s'", error.text);
  }
  arena_free(&arena);
}

static void the_optimizer_is_known(const void *argument) {
  Arena arena = {0};
  Error error = {0};
  Optimizer o = {0};
  size_t count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, SET "optimizer_model.ort", &count);
  bool good = bytes && optimizer_model_read(bytes, count, NULL, &error, &o) == STATUS_OK;
  check(good && o.kind == OPTIMIZER_ADAMW_HF && o.correct_bias && o.beta1 == 0.9f && o.beta2 == 0.999f &&
            o.weight_decay == 0 && o.eps == 1e-6f,
        "it is %s, betas %g and %g, decay %g, eps %g: %s", optimizer_name(o.kind), (double)o.beta1, (double)o.beta2,
        (double)o.weight_decay, (double)o.eps, error.text);
  arena_free(&arena);
}

static bool model_refused(const uint8_t *bytes, size_t count) {
  Arena arena = {0};
  Error error = {0};
  Graph *g = onnx_read(bytes, count, NULL, &arena, &error);
  check((g == NULL) == (error.status != STATUS_OK) && (g || error.text[0]), "a refusal has no sentence");
  check(error.status != STATUS_INTERNAL, "%s", error.text);
  arena_free(&arena);
  return !g;
}

static bool optimizer_refused(const uint8_t *bytes, size_t count) {
  Error error = {0};
  Optimizer o;
  Status status = optimizer_model_read(bytes, count, NULL, &error, &o);
  check(status == error.status && (status == STATUS_OK || error.text[0]), "a refusal has no sentence");
  return status != STATUS_OK;
}

static void try_file(const char *path, HostileReader *reader) {
  Arena arena = {0};
  size_t count;
  const uint8_t *bytes = (const uint8_t *)file_read(&arena, path, &count);
  if (check(bytes != NULL, "%s cannot be read: run from the repository", path)) hostile_try(bytes, count, reader);
  arena_free(&arena);
}

static void hostile_models_get_a_sentence(const void *path) { try_file(path, model_refused); }
static void hostile_optimizers_get_a_sentence(const void *path) { try_file(path, optimizer_refused); }

int main(void) {
  TEST(fused_nodes_come_apart);
  TEST(unknown_activations_are_refused);
  TEST(the_optimizer_is_known);
  test_run("hostile_models_get_a_sentence (training)", hostile_models_get_a_sentence, SET "training_model.ort");
  test_run("hostile_models_get_a_sentence (eval)", hostile_models_get_a_sentence, SET "eval_model.ort");
  test_run("hostile_optimizers_get_a_sentence", hostile_optimizers_get_a_sentence, SET "optimizer_model.ort");
  return test_finish();
}
