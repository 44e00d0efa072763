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

void *trainlet_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes) {
  artifacts_enter(a);
  void *to = external_add(&a->external, location, bytes, &a->arena);
  if (!to)
    error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the %zu bytes of external data '%.200s'", bytes,
              location);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

void *trainlet_artifacts_constant(TrainletArtifacts *a, const char *name, int type, int rank, const int64_t *dims) {
  artifacts_enter(a);
  void *to = constants_add(&a->constants, name, type, rank, dims, &a->arena, &a->error);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

void *trainlet_artifacts_file(TrainletArtifacts *a, size_t bytes) {
  artifacts_enter(a);
  void *to = external_add_file(&a->external, bytes, &a->arena);
  if (!to) error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for a model of %zu bytes", bytes);
  return artifacts_leave(a, to) == STATUS_OK ? to : NULL;
}

static void forget_model(TrainletArtifacts *a) {
  a->model = NULL;
  a->given = false;
  a->has_head = a->has_lora = a->has_quantized = false;
  a->training = (OnnxTraining){0};
  a->info = (TrainingInfo){0};
  arena_free(&a->parsed);
  arena_free(&a->read);
}

static Graph *read_model(TrainletArtifacts *a, const void *model, size_t bytes, bool defers) {
  return onnx_read_training(model, bytes, &a->external, defers, a->keeps_merged, &a->parsed, &a->error, &a->training);
}

/* With constants for inputs. What is no tensor of numbers is refused with the sentence that it has without them. */
static Graph *read_bound(TrainletArtifacts *a, const void *model, size_t bytes) {
  Graph *g = read_model(a, model, bytes, true);
  if (g && a->error.status == STATUS_OK) g = constants_bind(&a->constants, g, &a->parsed, &a->error);
  if (!g || constants_check_used(&a->constants, &a->error) != STATUS_OK) return NULL;
  g = constants_settle(g, &a->parsed, &a->error);
  return g || a->error.status != STATUS_OK ? g : read_model(a, model, bytes, false);
}

static Status check_is_plain(const Graph *g) {
  for (int i = 0; i < g->node_count; i++)
    if (op_is_accumulator(g->nodes[i]))
      return node_fail(g->nodes[i], STATUS_INVALID_MODEL,
                       "this is a training model already; artifacts are made of a model for inference");
  return STATUS_OK;
}

Status artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes) {
  ExternalFile *file = external_at(&a->external, model);
  if (file && file->spent)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "loading this file in place has failed before: it must be written again");
  forget_model(a);
  a->model = a->constants.first ? read_bound(a, model, bytes) : read_model(a, model, bytes, false);
  bool good = a->model && check_is_plain(a->model) == STATUS_OK && computed_undo(a->model) == STATUS_OK &&
              mode_note_eval(a->model) == STATUS_OK && a->error.status == STATUS_OK && !budget_missed();
  if (file) external_settle(file, good, false);
  if (!good) forget_model(a);
  return good ? STATUS_OK : STATUS_INTERNAL;
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

const void *trainlet_artifacts_bytes(const TrainletArtifacts *a, TrainletPart part, size_t *bytes) {
  *bytes = part <= TRAINLET_CHECKPOINT ? a->lengths[part] : 0;
  return part <= TRAINLET_CHECKPOINT ? a->bytes[part].data : NULL;
}

/* ---- graphs ---- */

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

static Status add_parameters(Graph *g) {
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_STATE) TRY(graph_add_input(g, g->values[i]));
  return STATUS_OK;
}

/* Names it, unless it was in the model. */
static Value *name_loss(TrainletArtifacts *a, Graph *g, Value *loss, const Value *scores, const char *name) {
  if (!loss || !name) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the loss"), NULL;
  if (loss != scores && graph_rename(g, loss, name) != STATUS_OK) return NULL;
  return loss_check_scalar(g, loss) == STATUS_OK ? loss : NULL;
}

const Value *artifacts_part_scores(TrainletArtifacts *a, const LossOptions *o) {
  const Value *from = o->input ? graph_find(a->model, o->input) : a->model->output_count ? a->model->outputs[0] : NULL;
  if (!from)
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "losses: the model has no value '%.200s'",
              o->input ? o->input : "");
  return from;
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
 * and the parameters as inputs. still: as for mode_copy. */
static Graph *forward_graph(TrainletArtifacts *a, const bool *eval_mode, Arena *arena, Value **loss) {
  Graph *g = mode_copy(a->model, eval_mode, arena, &a->error);
  bool outside = is_outside(a);
  Value **parts = ARENA_ARRAY(arena, Value *, a->loss_count);
  if (!g || !parts)
    return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the training graph"), NULL;
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
 * With the loss outside, also gradients towards `inputs`, if these are wanted. */
static Status append_training(TrainletArtifacts *a, Graph *g, Value *loss, bool *trained, bool inputs) {
  Graph *m = a->model;
  int count = 0, input_count = 0;
  Value **wrt = ARENA_ARRAY(g->arena, Value *, m->value_count + m->input_count),
        **grads = ARENA_ARRAY(g->arena, Value *, m->value_count + m->input_count);
  if (!wrt || !grads) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the training graph");
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
                            : error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the training graph");
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
  Status status = outputs ? graph_set_metadata(g, OUTPUTS_KEY, outputs)
                          : error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the eval model");
  if (status == STATUS_OK) status = artifacts_note_exporter(a, g);
  if (status == STATUS_OK) status = write_graph(a, g, TRAINLET_EVAL);
  arena_free(&arena);
  return status;
}

/* ---- the training_info ---- */

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
  if (!names_add(&a->loss_inputs, info.loss->name, &a->arena))
    return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the options");
  a->info = info;
  a->model = a->info.model;
  loss_named("none", &a->loss.kind);
  if (!a->has_optimizer) a->optimizer = a->info.optimizer;
  return STATUS_OK;
}

static CheckpointTensor moment_tensor(const Value *v, const char *name) {
  return (CheckpointTensor){name, v->type, v->shape, v->data, value_bytes(v)};
}

/* The state of the algorithm's optimizer. */
static Status add_optimizer_state(TrainletArtifacts *a, const bool *trained, Checkpoint *c) {
  int count = optimizer_moment_count(&a->optimizer);
  if (a->has_optimizer || a->nominal || !a->info.model || !count) return STATUS_OK;
  if (!(c->moments = ARENA_ARRAY(&a->building, CheckpointMoments, a->info.parameter_count)))
    return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the checkpoint");
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
  if (!tensors[0] || !tensors[1])
    return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the checkpoint");
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

/* Exporters fix the batch at the one of their example unless they are told otherwise. */
static Status free_batch(TrainletArtifacts *a) {
  const Node *why = NULL;
  if (a->fixed_batch || a->info.model) return STATUS_OK;
  switch (batch_free(a->model, &why)) {
    case BATCH_AS_IT_WAS: return STATUS_OK;
    case BATCH_FREED: return artifacts_warn_of_batch(a, NULL), STATUS_OK;
    case BATCH_KEPT: return artifacts_warn_of_batch(a, why), STATUS_OK;
    default:
      forget_model(a);
      return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL,
                       "out of memory for a model with a free batch; the model must be loaded again");
  }
}

/* A model to which half a head or half the adapters were added is none. */
static Status put_layers(TrainletArtifacts *a) {
  int asked = a->requires_grad.count;
  Status status = artifacts_put_layers(a);
  if (status == STATUS_OK && !budget_missed()) return STATUS_OK;
  forget_model(a);
  a->requires_grad.count = asked;
  if (status != STATUS_OK && status != STATUS_OUT_OF_MEMORY) return status;
  error_clear(&a->error);
  return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL,
                   "out of memory for what is put on the model; it must be loaded again");
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

static Status build(TrainletArtifacts *a) {
  if (!a->prepared) TRY(artifacts_prepare(a));
  TRY(artifacts_check_pieces(a));
  TRY(artifacts_quantize(a));
  bool *trained = ARENA_ARRAY(&a->building, bool, a->model->value_count);
  if (!trained) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the artifacts");
  TRY(artifacts_choose(a, trained));
  artifacts_warn_of_opset(a);
  artifacts_warn_of_parameters(a, trained);
  TRY(build_train(a, trained));
  TRY(build_eval(a));
  TRY(optimizer_model_write(&a->optimizer, &a->error, &a->bytes[TRAINLET_OPTIMIZER], &a->lengths[TRAINLET_OPTIMIZER]));
  return build_checkpoint(a, trained);
}

void artifacts_forget_parts(TrainletArtifacts *a) {
  for (int i = 0; i < 4; i++) {
    block_free(&a->bytes[i]);
    a->lengths[i] = 0;
  }
  a->quantizer = NULL;
  a->prepared = false;
  a->warnings = NULL;
  a->warned = a->warned_capacity = 0;
  arena_free(&a->building);
}

Status trainlet_artifacts_build(TrainletArtifacts *a) {
  artifacts_enter(a);
  if (!a->prepared) artifacts_forget_parts(a);
  Status status = build(a);
  a->prepared = false;
  if (status != STATUS_OK || budget_missed()) artifacts_forget_parts(a);
  return artifacts_leave(a, status == STATUS_OK);
}
