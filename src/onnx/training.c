/* ONNX's training_info: an algorithm joined with the model's graph, an initialization, and the values that initializers
 * take after each. */
#include <string.h>

#include "onnx/parts.h"

enum { BINDINGS_MAX = 1 << 20 };

/* ---- reading ---- */

static Status read_bindings(OnnxTraining *t, Onnx__StringStringEntryProto *const *from, size_t count, Arena *arena,
                            const char *what, OnnxBinding **out, int *out_count) {
  *out = count <= BINDINGS_MAX ? ARENA_ARRAY(arena, OnnxBinding, count) : NULL;
  if (!*out) return ERROR_MEMORY(&t->error, "for %zu %ss", count, what);
  for (size_t i = 0; i < count; i++) {
    if (!from[i]->key || !*from[i]->key || !from[i]->value || !*from[i]->value)
      return error_set(&t->error, STATUS_INVALID_MODEL, NULL, "the training_info's %s %zu lacks one of its two names",
                       what, i);
    (*out)[i] = (OnnxBinding){from[i]->key, from[i]->value};
  }
  *out_count = (int)count;
  return STATUS_OK;
}

static Status read_initialization(OnnxTraining *t, const Onnx__ModelProto *model, const Onnx__GraphProto *from,
                                  Arena *arena) {
  OnnxReader r = {.from = from, .graph = graph_new(arena, &t->error), .arena = arena, .error = &t->error};
  if (!r.graph) return t->error.status;
  TRY(onnx_frame_read(&r, model));
  TRY(onnx_body_read(&r));
  if (r.graph->input_count)
    return error_set(&t->error, STATUS_INVALID_MODEL, NULL,
                     "the training_info's initialization has the input '%.128s', it may have none",
                     r.graph->inputs[0]->name);
  t->initialization = r.graph;
  return STATUS_OK;
}

static Status read_algorithm(OnnxTraining *t, const Onnx__ModelProto *model, const Onnx__GraphProto *algorithm,
                             Arena *arena) {
  OnnxReader r = {
      .from = model->graph, .graph = graph_new(arena, &t->error), .arena = arena, .error = &t->error, .training = t};
  if (!r.graph) return t->error.status;
  TRY(onnx_frame_read(&r, model));
  TRY(onnx_names_reserve(r.graph, algorithm));
  TRY(onnx_body_read(&r));
  TRY(onnx_outputs_read(&r));
  r.from = algorithm;
  TRY(onnx_body_read(&r));
  t->graph = r.graph;
  return STATUS_OK;
}

static Status read_info(OnnxTraining *t, const Onnx__ModelProto *model, Arena *arena) {
  const Onnx__TrainingInfoProto *info = model->training_info[0];
  if (model->n_training_info > 1)
    return error_set(&t->error, STATUS_UNSUPPORTED_OP, NULL,
                     "the model holds %zu entries of training_info, we train by one", model->n_training_info);
  if (!info->algorithm)
    return error_set(&t->error, STATUS_INVALID_MODEL, NULL, "the model's training_info has no algorithm");
  TRY(read_bindings(t, info->update_binding, info->n_update_binding, arena, "update_binding", &t->updates,
                    &t->update_count));
  TRY(read_bindings(t, info->initialization_binding, info->n_initialization_binding, arena, "initialization_binding",
                    &t->initial, &t->initial_count));
  if (info->initialization && t->initial_count) TRY(read_initialization(t, model, info->initialization, arena));
  return read_algorithm(t, model, info->algorithm, arena);
}

void onnx_training_read(const Onnx__ModelProto *model, Arena *arena, OnnxTraining *out) {
  *out = (OnnxTraining){.entries = model->n_training_info < 2 ? (int)model->n_training_info : 2};
  if (out->entries) read_info(out, model, arena);
}

/* ---- writing ---- */

static char *text(const char *s) { return (char *)(uintptr_t)s; }

static Onnx__NodeProto *write_gradient(const OnnxGradient *gradient, Arena *arena) {
  const char **xs = ARENA_ARRAY(arena, const char *, gradient->count),
             **outs = ARENA_ARRAY(arena, const char *, gradient->count);
  if (!xs || !outs) return NULL;
  for (int i = 0; i < gradient->count; i++)
    xs[i] = gradient->xs[i]->name, outs[i] = gradient->outs[i] ? gradient->outs[i]->name : "";
  const Attr attrs[] = {{.name = "xs", .kind = ATTR_STRINGS, .count = gradient->count, .strings = xs},
                        attr_of_string("y", gradient->y->name)};
  return onnx_node_write("Gradient", "ai.onnx.preview.training", gradient->node, xs, gradient->count, outs,
                         gradient->count, attrs, 2, arena);
}

/* True if the node reads one of the gradient's outputs. */
static bool reads(const Onnx__NodeProto *n, const OnnxGradient *gradient) {
  for (size_t i = 0; i < n->n_input; i++)
    for (int k = 0; k < gradient->count; k++)
      if (gradient->outs[k] && strcmp(n->input[i], gradient->outs[k]->name) == 0) return true;
  return false;
}

/* Before the first node that reads it. */
static bool insert_gradient(Onnx__GraphProto *to, const OnnxGradient *gradient, Arena *arena) {
  Onnx__NodeProto **nodes = ARENA_ARRAY(arena, Onnx__NodeProto *, to->n_node + 1),
                  *written = write_gradient(gradient, arena);
  size_t at = 0;
  if (!nodes || !written) return false;
  while (at < to->n_node && !reads(to->node[at], gradient)) at++;
  for (size_t i = 0; i <= to->n_node; i++) nodes[i] = i < at ? to->node[i] : i == at ? written : to->node[i - 1];
  to->node = nodes;
  to->n_node++;
  return true;
}

/* Outputs: the loss, if the model does not have it, and the values that the initializers take. */
static bool write_outputs(const Graph *model, const OnnxTraining *t, Arena *arena, Onnx__GraphProto *to) {
  Value **values = ARENA_ARRAY(arena, Value *, t->update_count + 1);
  int count = 0;
  if (!values) return false;
  if (!graph_find(model, t->gradients->y->name)) values[count++] = t->gradients->y;
  for (int i = 0; i < t->update_count; i++) values[count++] = graph_find(t->graph, t->updates[i].from);
  return onnx_values_write(t->graph, values, count, arena, &to->n_output, &to->output);
}

static bool write_bindings(const OnnxTraining *t, Arena *arena, Onnx__TrainingInfoProto *to) {
  to->n_update_binding = (size_t)t->update_count;
  if (!(to->update_binding = ARENA_ARRAY(arena, Onnx__StringStringEntryProto *, t->update_count))) return false;
  for (int i = 0; i < t->update_count; i++) {
    Onnx__StringStringEntryProto *entry = to->update_binding[i] = ARENA_NEW(arena, Onnx__StringStringEntryProto);
    if (!entry) return false;
    onnx__string_string_entry_proto__init(entry);
    entry->key = text(t->updates[i].to);
    entry->value = text(t->updates[i].from);
  }
  return true;
}

static Onnx__ModelProto *write_training(const Graph *model, const OnnxTraining *t, Arena *arena) {
  Onnx__ModelProto *to = onnx_model_of(model, false, arena), *frame = onnx_frame_write(t->graph, arena);
  Onnx__TrainingInfoProto *info = ARENA_NEW(arena, Onnx__TrainingInfoProto);
  Onnx__GraphProto *algorithm = ARENA_NEW(arena, Onnx__GraphProto);
  if (!to || !frame || !info || !algorithm || !(to->training_info = ARENA_ARRAY(arena, Onnx__TrainingInfoProto *, 1)))
    return NULL;
  onnx__training_info_proto__init(info);
  onnx__graph_proto__init(algorithm);
  to->opset_import = frame->opset_import; /* the algorithm's operators, too */
  to->n_opset_import = frame->n_opset_import;
  to->ir_version = frame->ir_version;
  to->training_info[to->n_training_info++] = info;
  info->algorithm = algorithm;
  algorithm->name = text("algorithm");
  bool good = onnx_graph_write(t->graph, model, arena, algorithm) && insert_gradient(algorithm, t->gradients, arena) &&
              write_outputs(model, t, arena, algorithm) && write_bindings(t, arena, info) &&
              onnx_functions_write(algorithm, arena, to);
  return good ? to : NULL;
}

Status onnx_write_training(const Graph *model, const OnnxTraining *t, Block *out, size_t *out_bytes) {
  Arena arena = {0};
  Status status = onnx_model_pack(write_training(model, t, &arena), model->error, out, out_bytes);
  arena_free(&arena);
  return status;
}
