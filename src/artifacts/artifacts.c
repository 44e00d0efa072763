/* Artifacts: an inference model becomes ONNX Runtime's four training artifacts.
 *
 *   model ─┬─ mode_copy ─ loss ─▶ eval model
 *          ├─ mode_copy ─ loss ─ passes that recognise operators ─ backward ─ accumulators ─▶ train model
 *          └─ parameters ─▶ checkpoint
 *   options ─▶ optimizer model
 *
 * A model with a training_info may bring loss, parameters and optimizer itself (training_info/info.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "ops/accumulator.h"
#include "passes/passes.h"
#include "graph/backward.h"
#include "artifacts/artifacts.h"
#include "train/computed.h"
#include "model/free_batch.h"
#include "train/gradients.h"
#include "train/mode.h"
#include "train/yield.h"
#include "train/eval_mode.h"

TrainletArtifacts *trainlet_artifacts_new(void) {
  Arena arena = {0};
  Budget budget = {0};
  Error error = {0};
  budget_enter(&budget, &error);
  TrainletArtifacts *a = ARENA_NEW(&arena, TrainletArtifacts);
  if (budget_leave(&budget, &error, a) != STATUS_OK) return arena_free(&arena), NULL;
  a->arena = arena;
  a->budget = budget;
  a->optimizer = optimizer_default(OPTIMIZER_ADAMW);
  a->lora = lora_default();
  a->loss.delta = 1;
  a->passes = PASSES_ALL;
  a->initialize = true;
  return a;
}

Status trainlet_artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes) {
  artifacts_enter(a);
  bool there = (a->prepared || a->given) && model == a->listed; /* for its late pieces, or for other weights */
  return artifacts_leave(a, there ||
                                (artifacts_take_piece(a) == STATUS_OK && artifacts_load(a, model, bytes) == STATUS_OK));
}

void trainlet_artifacts_free(TrainletArtifacts *a) {
  if (!a) return;
  for (int i = 0; i < 4; i++) block_free(&a->bytes[i]);
  for (int i = 0; i < a->loss_count; i++) block_free(&a->losses[i].weight_memory);
  block_free(&a->loss.weight_memory);
  external_free(&a->external);
  arena_free(&a->parsed);
  arena_free(&a->read);
  arena_free(&a->building);
  Arena arena = a->arena; /* a itself lies in it */
  arena_free(&arena);
}

const Error *trainlet_artifacts_error(const TrainletArtifacts *a) { return &a->error; }
const char *trainlet_artifacts_warnings(const TrainletArtifacts *a) { return a->warnings ? a->warnings : ""; }

/* ---- graphs ---- */

static Status add_parameters(Graph *g) {
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_STATE) TRY(graph_add_input(g, g->values[i]));
  return STATUS_OK;
}

/* Names it, unless it was in the model. */
static Value *name_loss(TrainletArtifacts *a, Graph *g, Value *loss, const Value *scores, const char *name) {
  if (!loss || !name) return error_memory(&a->error, "for the loss"), NULL;
  if (loss != scores && graph_rename(g, loss, name) != STATUS_OK) return NULL;
  return loss_check_scalar(g, loss) == STATUS_OK ? loss : NULL;
}

static Value *append_part(TrainletArtifacts *a, Graph *g, const LossOptions *o) {
  const Value *from = artifacts_part_scores(a, o);
  if (!from) return NULL;
  return name_loss(a, g, loss_append(g, o, from), from->copy, arena_print(g->arena, "%s_loss", from->name));
}

/* The parts go into `parts`, to be outputs after their sum. */
static Value *append_losses(TrainletArtifacts *a, Graph *g, Value **parts) {
  if (a->loss_inputs.count)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "lossInputs: each of the losses has its own input"),
           NULL;
  for (int i = 0; i < a->loss_count; i++)
    if (!(parts[i] = append_part(a, g, &a->losses[i]))) return NULL;
  return name_loss(a, g, loss_append_sum(g, a->losses, parts, a->loss_count), NULL, "loss");
}

static Value *append_loss(TrainletArtifacts *a, Graph *g, Value **parts) {
  if (a->loss_count) return append_losses(a, g, parts);
  const Value *scores = artifacts_scores(a);
  return scores ? name_loss(a, g, loss_append(g, &a->loss, scores), scores->copy, "loss") : NULL;
}

static Status add_model_outputs(TrainletArtifacts *a, Graph *g) {
  if (a->loss_inputs.count)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "lossInputs goes with a loss inside: with 'outside' every output takes a gradient");
  for (int i = 0; i < a->model->output_count; i++) TRY(graph_add_output(g, a->model->outputs[i]->copy));
  return STATUS_OK;
}

static bool is_outside(const TrainletArtifacts *a) { return !a->loss_count && loss_is_outside(&a->loss); }

/* Model + loss, with the loss (NULL: it is outside, and the model's own outputs) and the additional outputs as outputs
 * and the parameters as inputs. eval_mode: as for mode_copy. */
static Graph *forward_graph(TrainletArtifacts *a, const bool *eval_mode, Arena *arena, Value **loss) {
  Graph *g = mode_copy(a->model, eval_mode, arena, &a->error);
  bool outside = is_outside(a);
  Value **parts = ARENA_ARRAY(arena, Value *, a->loss_count);
  if (!g || !parts) return error_memory(&a->error, "for the training graph"), NULL;
  *loss = outside ? NULL : append_loss(a, g, parts);
  if ((!outside && !*loss) || add_parameters(g) != STATUS_OK) return NULL;
  if ((outside ? add_model_outputs(a, g) : graph_add_output(g, *loss)) != STATUS_OK) return NULL;
  for (int i = 0; i < a->loss_count; i++)
    if (graph_add_output(g, parts[i]) != STATUS_OK) return NULL;
  for (int i = 0; i < a->additional_outputs.count; i++) {
    Value *v = graph_find(g, a->additional_outputs.names[i]);
    if (!v) {
      error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "additionalOutputs: the model has no value '%.200s'",
                a->additional_outputs.names[i]);
      return NULL;
    }
    if (graph_add_output(g, v) != STATUS_OK) return NULL;
  }
  /* The eval model stays as it came: it is what exportModel writes, and its own passes run when it is bound. */
  return eval_mode && passes_recognise(g, a->passes) != STATUS_OK ? NULL : g;
}

static Status add_accumulator(Graph *g, Value *parameter, Value *grad, Value *reset) {
  Node *n = gradients_accumulate(g, parameter, grad, reset);
  if (!n) return g->error->status;
  TRY(graph_add_input(g, n->in[0]));
  return graph_add_output(g, n->out[0]);
}

/* The inputs that gradients from outside may be wanted towards, into `to`. */
static int float_inputs(const Graph *m, Value **to) {
  int count = 0;
  for (int i = 0; i < m->input_count; i++)
    if (m->inputs[i]->type == DTYPE_FLOAT32 && !m->inputs[i]->declared) to[count++] = m->inputs[i]->copy;
  return count;
}

static Status append_gradients(Graph *g, Value *loss, Value *const *wrt, int count, Value **grads) {
  BackwardStart start;
  if (loss) return gradients_append(g, loss, wrt, count, grads);
  TRY(yield_append(g, &start));
  return backward_from(g, start.ys, start.dys, start.count, wrt, count, grads);
}

/* Appends backward and one accumulator for each parameter that the loss depends on; the others are `trained` no more.
 * An external loss adds gradients towards `inputs`, if these are wanted. */
static Status append_training(TrainletArtifacts *a, Graph *g, Value *loss, bool *trained, bool inputs) {
  Graph *m = a->model;
  int count = 0, input_count = 0;
  Value **wrt = ARENA_ARRAY(g->arena, Value *, m->value_count + m->input_count),
        **grads = ARENA_ARRAY(g->arena, Value *, m->value_count + m->input_count);
  if (!wrt || !grads) return error_memory(&a->error, "for the training graph");
  for (int i = 0; i < m->value_count; i++)
    if (trained[i]) wrt[count++] = m->values[i]->copy;
  if (inputs) input_count = float_inputs(m, wrt + count);
  TRY(append_gradients(g, loss, wrt, count + input_count, grads));
  Shape flag = SHAPE(1);
  Value *reset = graph_value(g, graph_stable_name(g, "lazy_reset_grad"), DTYPE_BOOL, &flag, VALUE_INPUT);
  if (!reset) return a->error.status;
  int left = 0;
  for (int i = 0, at = 0; i < m->value_count; i++) {
    if (!trained[i]) continue;
    Value *grad = grads[at], *parameter = wrt[at++];
    if (!grad && names_have(&a->requires_grad, parameter->name))
      return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "requiresGrad: the loss does not depend on '%.200s'",
                       parameter->name);
    if (!grad) {
      artifacts_warn(a, "parameter '%.200s' stays frozen: the loss does not depend on it", parameter->name);
      trained[i] = false;
      continue;
    }
    left++;
    TRY(add_accumulator(g, parameter, grad, reset));
  }
  if (!left)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "no parameter is left to train: the loss depends on none that is not frozen%s",
                     artifacts_left_hint(a));
  for (int i = count; i < count + input_count; i++)
    if (grads[i]) TRY(yield_add_input_gradient(g, wrt[i], grads[i]));
  return graph_add_input(g, reset);
}

/* ---- the four parts ---- */

static Status write_graph(TrainletArtifacts *a, Graph *g, TrainletPart part) {
  return onnx_write(g, a->types, &a->bytes[part], &a->lengths[part]);
}

static Status build_train_with(TrainletArtifacts *a, bool *trained, bool inputs) {
  TRY(artifacts_choose(a, trained));
  Arena arena = {0};
  Value *loss;
  bool *eval_mode = ARENA_ARRAY(&arena, bool, a->model->node_count);
  Status status = eval_mode ? eval_mode_find(a->model, trained, !a->updates_batch_norm, &arena, eval_mode)
                            : error_memory(&a->error, "for the training graph");
  Graph *g = status == STATUS_OK ? forward_graph(a, eval_mode, &arena, &loss) : NULL;
  status = g ? append_training(a, g, loss, trained, inputs) : a->error.status;
  if (status == STATUS_OK) status = write_graph(a, g, TRAINLET_TRAIN);
  if (status == STATUS_OK && a->types) artifacts_warn_of_ours(a, g);
  if (status == STATUS_OK) artifacts_warn_of_activations(a);
  arena_free(&arena);
  return status;
}

/* Between inputs and parameters may stand what has no gradient: then there are none towards inputs. */
static Status build_train(TrainletArtifacts *a, bool *trained) {
  bool inputs = is_outside(a);
  int warned = a->warned;
  Status status = build_train_with(a, trained, inputs);
  if (!inputs || status != STATUS_UNSUPPORTED_OP) return status;
  Error first = a->error;
  error_clear(&a->error);
  a->warned = warned;
  TRY(build_train_with(a, trained, false));
  artifacts_warn(a, "backward gives no gradients towards inputs: %s", first.text);
  return STATUS_OK;
}

static Status build_eval(TrainletArtifacts *a) {
  Arena arena = {0};
  Value *loss;
  Graph *g = forward_graph(a, NULL, &arena, &loss);
  const char *outputs = g ? graph_list_names(a->model->outputs, a->model->output_count, "\n", &arena) : NULL;
  Status status = outputs ? graph_set_metadata(g, OUTPUTS_KEY, outputs) : error_memory(&a->error, "for the eval model");
  if (status == STATUS_OK) status = artifacts_note_exporter(a, g);
  if (status == STATUS_OK) status = write_graph(a, g, TRAINLET_EVAL);
  arena_free(&arena);
  return status;
}

/* ---- the training_info ---- */

static CheckpointTensor moment_tensor(const Value *v, const char *name) {
  return (CheckpointTensor){name, v->type, v->shape, v->data, value_bytes(v)};
}

/* The state of the algorithm's optimizer. */
static Status add_optimizer_state(TrainletArtifacts *a, const bool *trained, Checkpoint *c) {
  int count = optimizer_moment_count(&a->optimizer);
  if (a->has_optimizer || a->nominal || !a->info.model || !count) return STATUS_OK;
  if (!(c->moments = ARENA_ARRAY(&a->building, CheckpointMoments, a->info.parameter_count)))
    return error_memory(&a->error, "for the checkpoint");
  c->has_optimizer = true;
  c->optimizer = optimizer_name(a->optimizer.kind);
  c->step = a->info.steps;
  c->initial_learning_rate = c->learning_rate = a->optimizer.lr;
  for (int i = 0; i < a->model->value_count; i++) {
    const TrainedParameter *p = trained[i] ? artifacts_trained_by_info(a, a->model->values[i]) : NULL;
    if (!p) continue;
    CheckpointMoments *m = &c->moments[c->moment_count++];
    *m = (CheckpointMoments){.parameter = p->value->name, .count = count};
    for (int k = 0; k < count; k++) m->moment[k] = moment_tensor(p->moment[k], k ? "momentum1" : "momentum0");
  }
  return STATUS_OK;
}

static Status build_checkpoint(TrainletArtifacts *a, const bool *trained) {
  Graph *m = a->model;
  CheckpointTensor *tensors[2] = {ARENA_ARRAY(&a->building, CheckpointTensor, m->value_count),
                                  ARENA_ARRAY(&a->building, CheckpointTensor, m->value_count)};
  int counts[2] = {0, 0};
  if (!tensors[0] || !tensors[1]) return error_memory(&a->error, "for the checkpoint");
  for (int i = 0; i < m->value_count; i++) {
    const Value *v = m->values[i];
    if (!mode_is_parameter(v)) continue;
    CheckpointTensor whole = {v->name, v->type, v->shape, v->data, value_bytes(v)};
    tensors[trained[i]][counts[trained[i]]++] = a->nominal ? (CheckpointTensor){.name = v->name, .type = v->type}
                                                           : whole;
  }
  Checkpoint c = {.nominal = a->nominal,
                  .only_plans = a->without_weights,
                  .trainable = tensors[1],
                  .trainable_count = counts[1],
                  .frozen = tensors[0],
                  .frozen_count = counts[0]};
  TRY(add_optimizer_state(a, trained, &c));
  return ort_checkpoint_write(&c, ORT_CHECKPOINT_NEWEST, &a->error, &a->bytes[TRAINLET_CHECKPOINT],
                              &a->lengths[TRAINLET_CHECKPOINT]);
}

static Status build(TrainletArtifacts *a) {
  if (!a->prepared) TRY(artifacts_prepare(a));
  TRY(artifacts_check_pieces(a));
  TRY(artifacts_quantize(a));
  bool *trained = ARENA_ARRAY(&a->building, bool, a->model->value_count);
  if (!trained) return error_memory(&a->error, "for the artifacts");
  TRY(artifacts_choose(a, trained));
  artifacts_warn_of_opset(a);
  artifacts_warn_of_parameters(a, trained);
  TRY(build_train(a, trained));
  TRY(build_eval(a));
  TRY(optimizer_model_write(&a->optimizer, &a->error, &a->bytes[TRAINLET_OPTIMIZER], &a->lengths[TRAINLET_OPTIMIZER]));
  return build_checkpoint(a, trained);
}

Status trainlet_artifacts_build(TrainletArtifacts *a) {
  artifacts_enter(a);
  if (!a->prepared) artifacts_forget_parts(a);
  Status status = build(a);
  a->prepared = false;
  if (status != STATUS_OK || budget_missed()) artifacts_forget_parts(a);
  return artifacts_leave(a, status == STATUS_OK);
}
