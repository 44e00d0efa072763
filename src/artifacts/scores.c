/* The output that a loss reads. */
#include "artifacts/artifacts.h"

const Value *artifacts_scores(TrainletArtifacts *a) {
  const Value *from = a->model->output_count ? a->model->outputs[0] : NULL;
  if (a->loss_inputs.count > 1) {
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
              "lossInputs names %d values, the losses here take one: the scores", a->loss_inputs.count);
    return NULL;
  }
  if (a->loss_inputs.count && !(from = graph_find(a->model, a->loss_inputs.names[0]))) {
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "lossInputs: the model has no value '%.200s'",
              a->loss_inputs.names[0]);
    return NULL;
  }
  if (!from) error_set(&a->error, STATUS_INVALID_MODEL, NULL, "the model has no output to learn from");
  return from;
}

const Value *artifacts_part_scores(TrainletArtifacts *a, const LossOptions *o) {
  const Value *from = o->input ? graph_find(a->model, o->input) : a->model->output_count ? a->model->outputs[0] : NULL;
  if (!from)
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "losses: the model has no value '%.200s'",
              o->input ? o->input : "");
  return from;
}
