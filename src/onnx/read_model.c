/* Reads a whole model: its functions, its graph and its training_info. */
#include "graph/op.h"
#include "onnx/not_onnx.h"
#include "onnx/onnx.h"
#include "onnx/parts.h"
#include "part.h"

typedef OnnxReader Reader;

OPTIONAL(onnx_functions, onnx_functions_inline);

static bool is_float_constant(const Value *v) { return v->kind == VALUE_CONSTANT && v->type == DTYPE_FLOAT32; }

/* Some converters write every weight as a Constant node. If no initializer is float, Constants with dims are taken for
 * what others keep as initializers. */
static void find_weights(Graph *g) {
  for (int i = 0; i < g->value_count; i++)
    if (is_float_constant(g->values[i]) && g->values[i]->initializer) return;
  for (int i = 0; i < g->value_count; i++)
    if (is_float_constant(g->values[i])) g->values[i]->initializer = g->values[i]->shape.rank > 0;
}

static Status read_graph(Reader *r, const Onnx__ModelProto *model) {
  TRY(onnx_frame_read(r, model));
  TRY(onnx_body_read(r));
  find_weights(r->graph);
  return onnx_outputs_read(r);
}

static Graph *read_model(const uint8_t *bytes, size_t count, const External *external, bool defers, bool keeps,
                         Arena *arena, Error *error, OnnxTraining *training) {
  const char *what = onnx_not_onnx(bytes, count);
  if (what || !count) {
    if (what) error_set(error, STATUS_INVALID_MODEL, NULL, "the bytes are not an ONNX model but %s", what);
    else error_set(error, STATUS_INVALID_MODEL, NULL, "the model is empty: 0 bytes");
    return NULL;
  }
  const Onnx__ModelProto *model = onnx_model_parse(bytes, count, external, arena, error);
  if (!model || onnx_model_check(model, error) != STATUS_OK) return NULL;
  if (model->n_functions && !part_onnx_functions) return part_missing(error, "functions of ONNX models"), NULL;
  if (model->n_functions && part_onnx_functions(model, arena, error) != STATUS_OK) return NULL;
  Graph *g = graph_new(arena, error);
  Reader r = {.from = model->graph,
              .graph = g,
              .arena = arena,
              .error = error,
              .trains = training != NULL,
              .keeps_merged = keeps};
  if (g) g->deferral.allowed = defers, g->predicts = defers && !training;
  if (!g || read_graph(&r, model) != STATUS_OK) return NULL;
  if (training) onnx_training_read(model, arena, training);
  return g;
}

Graph *onnx_read_training(const uint8_t *bytes, size_t count, const External *external, bool defers, bool keeps,
                          Arena *arena, Error *error, OnnxTraining *training) {
  return read_model(bytes, count, external, defers, keeps, arena, error, training);
}

Graph *onnx_read(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error) {
  return read_model(bytes, count, external, false, false, arena, error, NULL);
}

Graph *onnx_read_inference(const uint8_t *bytes, size_t count, const External *external, Arena *arena, Error *error) {
  return read_model(bytes, count, external, true, false, arena, error, NULL);
}
