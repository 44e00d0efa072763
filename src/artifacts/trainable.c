/* Trainable: which of a model's parameters train, and why the others do not. */
#include <string.h>

#include "graph/notes.h"
#include "ops/ops.h"
#include "artifacts/artifacts.h"
#include "train/buffer.h"
#include "train/computed.h"
#include "train/master.h"
#include "train/mode.h"
#include "model/untie.h"

const TrainedParameter *artifacts_trained_by_info(const TrainletArtifacts *a, const Value *v) {
  for (int i = 0; i < a->info.parameter_count; i++)
    if (strcmp(a->info.parameters[i].value->name, v->name) == 0) return &a->info.parameters[i];
  return NULL;
}

/* A GroupNormalization is exported as an InstanceNormalization of ones and zeros, before its own scale and bias; named
 * as PyTorch's exporter names what it has made up. */
static bool is_of_group_norm(const TrainletArtifacts *a, const Value *v) {
  const Readings *all = &a->weights.of[v->index];
  const float *x = v->data;
  size_t count = shape_elements(&v->shape), equal = 0;
  bool made = all->count && strncmp(v->name, "val_", 4) == 0;
  for (int i = 0; made && i < all->count; i++) {
    const Reading *r = &all->items[i];
    made = r->node->op == &op_instance_normalization;
    for (size_t k = 0; made && k < count; k++) equal += x[k] == (r->as == READ_SCALE ? 1 : 0);
  }
  return made && equal == count * (size_t)all->count;
}

const char *artifacts_frozen_because(const TrainletArtifacts *a, const Value *v) {
  if (v->quantized) return "it is of a weight that quantizeFrozen has quantized";
  if (v->type != DTYPE_FLOAT32) return "only float32, float16 and bfloat16 are trained";
  if (!mode_is_parameter(v)) return "the shapes of other values follow from it";
  if (v->statistic) return "it is a running statistic";
  if (names_match(&a->frozen, v->name)) return "the option frozen names it";
  if (a->by_training_info && !artifacts_trained_by_info(a, v)) return "the training_info does not train it";
  if (a->requires_grad.count && !names_match(&a->requires_grad, v->name)) return "requiresGrad does not name it";
  if (a->by_training_info) return NULL;
  if (a->weights.infinite[v->index]) return "it holds values that are infinite or NaN";
  if (a->requires_grad.count || (v->note == NOTE_PARAMETER && !buffer_is_waves(&a->weights, v))) return NULL;
  if (v->note == NOTE_NO_PARAMETER) return "the exporter says that it is no parameter but a buffer or constant";
  if (is_of_group_norm(a, v)) return "it is a part of a GroupNormalization, which has a scale and bias of its own";
  if (buffer_by_contents(&a->weights, v)) return "it is a mask, a table of waves or a filter, which no layer learns";
  if (buffer_by_name(&a->weights, v)) return "its name is that of a buffer";
  if (weights_learned(&a->weights, v) || weights_may_be_learned(&a->weights, v)) return NULL;
  return a->weights.of[v->index].count ? "no operator reads it as a weight, bias or scale" : "no operator reads it";
}

/* One that was computed trains by what its exporter notes of that. */
static ExporterNote note_to_keep(const TrainletArtifacts *a, const Value *v) {
  bool learned = weights_learned(&a->weights, v) && !buffer_by_contents(&a->weights, v) &&
                 !buffer_by_name(&a->weights, v);
  if (!learned || v->note == NOTE_NO_PARAMETER) return v->note;
  return v->computed_from ? NOTE_PARAMETER : NOTE_NONE; /* its readers tell it */
}

Status artifacts_note_exporter(const TrainletArtifacts *a, Graph *g) {
  for (int i = 0; i < a->model->value_count; i++) {
    const Value *v = a->model->values[i];
    bool made = v->kind == VALUE_CONSTANT && !v->initializer && weights_learned(&a->weights, v); /* a node holds it */
    if (!made && (!mode_is_parameter(v) || v->quantized)) continue;
    const char digit[] = {(char)('0' + (made ? NOTE_NO_PARAMETER : note_to_keep(a, v))), '\0'};
    if (*digit != '0') TRY(notes_add(g, NOTES_KEY, v->name, digit));
  }
  return STATUS_OK;
}

static bool is_statistic(const Readings *all) {
  for (int i = 0; i < all->count; i++)
    if (all->items[i].as == READ_STATISTIC) return true;
  return false;
}

/* Converts running statistics, and weights that would train as float32. */
static Status make_masters(TrainletArtifacts *a, bool *made) {
  Graph *m = a->model;
  int count = m->value_count;
  for (int i = 0; i < count; i++) {
    Value *v = m->values[i];
    bool learned = v->note == NOTE_PARAMETER || weights_learned(&a->weights, v) ||
                   weights_may_be_learned(&a->weights, v);
    if (!master_wanted(v) || names_match(&a->frozen, v->name)) continue;
    if (a->requires_grad.count) learned = names_match(&a->requires_grad, v->name);
    if (!learned && !is_statistic(&a->weights.of[v->index])) continue;
    TRY(master_make(m, v));
    *made = true;
  }
  return STATUS_OK;
}

Status artifacts_untie(TrainletArtifacts *a) {
  mode_mark_statistics(a->model);
  TRY(weights_read(a->model, &a->building, &a->weights));
  return untie(a->model, &a->weights, !a->keeps_merged, a->untie);
}

Status artifacts_read_weights(TrainletArtifacts *a) {
  Graph *m = a->model;
  if (a->untie && a->by_training_info)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "untie goes with a loss of its own: the training_info's algorithm says what trains");
  mode_mark_statistics(m);
  TRY(weights_read(m, &a->building, &a->weights));
  if (a->by_training_info) return STATUS_OK;
  bool made = false;
  TRY(make_masters(a, &made));
  if (made) {
    TRY(computed_undo(m)); /* undo the exporter's work in the float32 numbers */
    TRY(weights_read(m, &a->building, &a->weights));
  }
  TRY(untie(m, &a->weights, !a->keeps_merged, a->untie));
  mode_mark_statistics(m);
  return weights_read(m, &a->building, &a->weights);
}

const char *artifacts_left_hint(const TrainletArtifacts *a) {
  for (int i = 0; i < a->model->value_count; i++)
    if (a->model->values[i]->initializer && a->model->values[i]->type == DTYPE_FLOAT64)
      return "; float64 weights do not train: export the model in float32, as by model.float()";
  return a->requires_grad.count ? "" : "; without requiresGrad those train that a layer reads as a weight";
}

/* A pattern that also matches it is no slip of the pen. */
static Status refuse_infinite(TrainletArtifacts *a, const Value *v) {
  if (a->by_training_info || !a->weights.infinite[v->index] || !names_have(&a->requires_grad, v->name))
    return STATUS_OK;
  if (v->statistic || names_match(&a->frozen, v->name)) return STATUS_OK;
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                   "requiresGrad names '%.200s', which holds values that are infinite or NaN and cannot train",
                   v->name);
}

Status artifacts_choose(TrainletArtifacts *a, bool *trained) {
  const Graph *m = a->model;
  for (int i = 0; i < m->value_count; i++) {
    if (!mode_is_parameter(m->values[i])) continue;
    TRY(refuse_infinite(a, m->values[i]));
    trained[i] = !artifacts_frozen_because(a, m->values[i]);
  }
  return STATUS_OK;
}

static Status check_patterns(TrainletArtifacts *a, const char *key, const NameList *list) {
  for (int i = 0; i < list->count; i++) {
    bool found = false;
    for (int k = 0; k < a->model->value_count && !found; k++) {
      const Value *v = a->model->values[k];
      found = (mode_is_parameter(v) || master_wanted(v)) && name_matches(list->names[i], v->name);
    }
    if (!found)
      return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "%s '%.200s' matches no parameter of the model", key,
                       list->names[i]);
  }
  return STATUS_OK;
}

Status artifacts_check_patterns(TrainletArtifacts *a) {
  TRY(check_patterns(a, "requiresGrad", &a->requires_grad));
  return check_patterns(a, "frozen", &a->frozen);
}
