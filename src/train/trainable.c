/* Trainable: which of a model's parameters train. */
#include <string.h>

#include "train/artifacts.h"
#include "train/mode.h"

const TrainedParameter *artifacts_trained_by_info(const TrainletArtifacts *a, const Value *v) {
  for (int i = 0; i < a->info.parameter_count; i++)
    if (strcmp(a->info.parameters[i].value->name, v->name) == 0) return &a->info.parameters[i];
  return NULL;
}

bool artifacts_trains(const TrainletArtifacts *a, const Value *v) {
  if (a->by_training_info && !artifacts_trained_by_info(a, v)) return false;
  if (v->statistic || names_match(&a->frozen, v->name)) return false;
  return a->requires_grad.count == 0 || names_match(&a->requires_grad, v->name);
}

static Status check_patterns(TrainletArtifacts *a, const char *key, const NameList *list) {
  for (int i = 0; i < list->count; i++) {
    bool found = false;
    for (int k = 0; k < a->model->value_count && !found; k++)
      found = mode_is_parameter(a->model->values[k]) && name_matches(list->names[i], a->model->values[k]->name);
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
