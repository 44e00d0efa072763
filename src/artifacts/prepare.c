/* Changes to the model before parts are built: added layers, a free batch dim. */
#include <string.h>

#include "artifacts/artifacts.h"
#include "model/free_batch.h"

static Status take_training_info(TrainletArtifacts *a) {
  char text[LISTED_MAX];
  if (!a->training.entries)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the model holds no training_info, so a loss is needed: %s",
                     names_listed(text, loss_name, NULL, "or"));
  if (a->loss_inputs.count)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "lossInputs goes with a loss of its own: the training_info's algorithm says what its loss is of");
  if (a->constants.first)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "constants go with a loss of its own: the training_info's algorithm would be fed what they are");
  if (a->has_settings && !a->has_optimizer)
    return error_set(
        &a->error, STATUS_INVALID_ARGUMENT, NULL,
        "options of an optimizer need its type here: the training_info's own is taken whole or not at all");
  if (a->training.error.status != STATUS_OK) return a->error = a->training.error, a->error.status;
  TrainingInfo info;
  arena_free(&a->read);
  TRY(training_info_read(&a->training, a->initialize, a->has_optimizer, &a->read, &a->error, &info));
  if (!names_add(&a->loss_inputs, info.loss->name, &a->arena)) return error_memory(&a->error, "for the options");
  a->info = info;
  a->model = a->info.model;
  loss_named("none", &a->loss.kind);
  if (!a->has_optimizer) a->optimizer = a->info.optimizer;
  return STATUS_OK;
}

/* Exporters fix the batch at the one of their example unless they are told otherwise. */
static Status free_batch(TrainletArtifacts *a) {
  const Node *why = NULL;
  if (a->fixed_batch || a->info.model) return STATUS_OK;
  switch (batch_free(a->model, &why)) {
    case BATCH_AS_IT_WAS: return STATUS_OK;
    case BATCH_FREED: return artifacts_warn_of_batch(a, NULL), STATUS_OK;
    case BATCH_KEPT: return artifacts_warn_of_batch(a, why), STATUS_OK;
    default:
      artifacts_forget_model(a);
      return error_memory(&a->error, "for a model with a free batch; the model must be loaded again");
  }
}

/* A model to which half a head or half the adapters were added is none. */
static Status put_layers(TrainletArtifacts *a) {
  int asked = a->requires_grad.count;
  Status status = artifacts_put_layers(a);
  if (status == STATUS_OK && !budget_missed()) return STATUS_OK;
  artifacts_forget_model(a);
  a->requires_grad.count = asked;
  if (status != STATUS_OK && status != STATUS_OUT_OF_MEMORY) return status;
  error_clear(&a->error);
  return error_memory(&a->error, "for what is put on the model; it must be loaded again");
}

Status artifacts_prepare(TrainletArtifacts *a) {
  if (!a->model)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "artifacts are made of a model, and none was loaded");
  if (a->by_training_info && !a->info.model) TRY(take_training_info(a));
  if (a->optimizer.nesterov && a->optimizer.momentum == 0)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "option optimizer.nesterov needs optimizer.momentum above 0");
  if (a->optimizer.clip_norm > 0 && a->optimizer.clip_value > 0)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "option optimizer.clipGradValue: gradients are clipped by it or by clipGradNorm, not by both");
  /* Adam without decay is AdamW without decay, for which ONNX Runtime has an operator. */
  if (a->optimizer.kind == OPTIMIZER_ADAM && a->optimizer.weight_decay == 0) a->optimizer.kind = OPTIMIZER_ADAMW;
  TRY(put_layers(a));
  TRY(free_batch(a));
  TRY(artifacts_read_weights(a));
  TRY(artifacts_check_patterns(a));
  return artifacts_choose_quantized(a);
}
