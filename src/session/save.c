/* Saving: the session as a checkpoint, and the trained model as plain inference ONNX. */
#include <math.h>
#include <string.h>

#include "compact/compact.h"
#include "onnx/onnx.h"
#include "graph/op.h"
#include "part.h"
#include "passes/rewrite.h"
#include "session/session.h"
#include "model/head.h"
#include "model/lora.h"
#include "model/lora_merge.h"
#include "train/loss.h"
#include "train/master.h"

static const char IS_LOST[] = "training has made them so, and what is saved could not go on";

const void *trainlet_session_result(const TrainletSession *s, size_t *bytes) {
  return *bytes = s->result_bytes, s->result.data;
}

static void forget_result(TrainletSession *s) {
  block_free(&s->result);
  s->result_bytes = 0;
}

void trainlet_session_result_free(TrainletSession *s) {
  session_enter(s);
  forget_result(s);
  session_leave(s, true);
}

Status session_finish_result(TrainletSession *s, Status status) {
  if (status != STATUS_OK || budget_missed()) forget_result(s);
  return session_leave(s, status == STATUS_OK);
}

static Status out_of_memory(TrainletSession *s) { return error_memory(&s->error, "for the file to save"); }

static CheckpointTensor tensor_of(const Parameter *p, const void *data, const char *name) {
  return (CheckpointTensor){name, p->type, p->shape, data, p->bytes};
}

/* `zeros`, if any, stand for the moments of an optimizer that has none but must show some. */
static CheckpointMoments moments_of(const TrainletSession *s, const Parameter *p, const void *zeros) {
  static const char *const names[] = {"momentum0", "momentum1"};
  CheckpointMoments m = {.parameter = p->name, .count = s->state.moment_count, .steps = p->steps};
  for (int k = 0; k < m.count; k++) m.moment[k] = tensor_of(p, p->moment[k], names[k]);
  if (!m.count && zeros) m.count = 1, m.moment[0] = tensor_of(p, zeros, names[0]);
  return m;
}

OPTIONAL(checkpoint_write, trainlet_checkpoint_write);
OPTIONAL(ort_checkpoint_write, ort_checkpoint_write);
OPTIONAL(training_info_check, session_check_training_info);
OPTIONAL(training_info_write, session_write_algorithm);
OPTIONAL(onnx_write_training, onnx_write_training);
OPTIONAL(compact_write, compact_write);

static bool is_ours(TrainletFormat format) {
  return format == TRAINLET_FORMAT_TRAINLET || format == TRAINLET_FORMAT_ADAPTERS;
}

Status session_write_checkpoint(TrainletSession *s, const Checkpoint *c, TrainletFormat format) {
  if (is_ours(format))
    return part_checkpoint_write ? part_checkpoint_write(c, &s->error, &s->result, &s->result_bytes)
                                 : part_missing(&s->error, "writer of Trainlet's checkpoints");
  if (!part_ort_checkpoint_write) return part_missing(&s->error, "writer of ONNX Runtime's checkpoints");
  return part_ort_checkpoint_write(c, format == TRAINLET_FORMAT_ORT_1 ? 1 : 2, &s->error, &s->result, &s->result_bytes);
}

/* True for parameters that train. In Trainlet's format also for those that have trained before: their moments are
 * needed when they train again. */
static bool keeps_moments(const TrainletSession *s, const Parameter *p, TrainletFormat format) {
  if (is_ours(format) && p->adapted && !s->adapters.used) return false;
  return p->trainable || (is_ours(format) && p->moment[0] && p->steps);
}

/* ONNX Runtime wants a first moment even of plain SGD, which keeps none: zeros. */
static Status gather_tensors(TrainletSession *s, bool optimizer_state, TrainletFormat format, Arena *arena,
                             Checkpoint *c) {
  bool moments = optimizer_state && s->has_optimizer && s->models[MODEL_TRAIN].graph;
  bool none = moments && !s->state.moment_count;
  if (none && is_ours(format)) moments = false;
  const void *zeros = none && moments ? arena_alloc(arena, s->state.gradient_count * sizeof(float)) : NULL;
  c->trainable = ARENA_ARRAY(arena, CheckpointTensor, s->state.count);
  c->frozen = ARENA_ARRAY(arena, CheckpointTensor, s->state.count);
  c->moments = ARENA_ARRAY(arena, CheckpointMoments, s->state.count);
  c->best = ARENA_ARRAY(arena, CheckpointTensor, s->state.count);
  c->bounds = ARENA_ARRAY(arena, CheckpointBounds, s->state.count);
  c->groups = ARENA_ARRAY(arena, CheckpointGroup, s->state.count);
  c->bases = ARENA_ARRAY(arena, CheckpointTensor, s->state.count);
  c->averages = ARENA_ARRAY(arena, CheckpointTensor, s->state.count);
  if (arena->failed) return out_of_memory(s);
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (c->alone && !is_over_base(p)) continue;
    if (p->trainable) c->trainable[c->trainable_count++] = tensor_of(p, p->data, p->name);
    else c->frozen[c->frozen_count++] = tensor_of(p, p->data, p->name);
    if (!isinf(p->least) || !isinf(p->most))
      c->bounds[c->bound_count++] = (CheckpointBounds){p->name, p->least, p->most};
    if (p->lr_scale != 1 || p->weight_decay != s->optimizer.weight_decay || p->anchor > 0)
      c->groups[c->group_count++] = (CheckpointGroup){p->name, p->lr_scale, p->weight_decay, p->anchor};
    if (p->base) c->bases[c->base_count++] = tensor_of(p, p->base, p->name);
    if (p->average && s->state.averaged) c->averages[c->average_count++] = tensor_of(p, p->average, p->name);
    if (p->best) c->best[c->best_count++] = tensor_of(p, p->best, p->name);
    if (moments && keeps_moments(s, p, format)) c->moments[c->moment_count++] = moments_of(s, p, zeros);
  }
  return STATUS_OK;
}

OPTIONAL(gather_adapters, session_gather_adapters);
OPTIONAL(base, session_base);

/* Alone, they begin as their base has them. */
static Status gather_adapters(TrainletSession *s, bool moments, Arena *arena, Checkpoint *c) {
  if (!part_gather_adapters || !part_base) return part_missing(&s->error, "several adapters");
  if (c->alone) c->base = part_base(s);
  TRY(part_gather_adapters(s, moments, arena, c));
  if (c->alone) c->start_count = 0;
  return STATUS_OK;
}

Status session_gather(TrainletSession *s, bool optimizer_state, TrainletFormat format, Arena *arena, Checkpoint *c) {
  if (!s->ready || !s->has_checkpoint)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "the session has no parameters to save");
  if ((unsigned)format > TRAINLET_FORMAT_ADAPTERS)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "there is no checkpoint format number %d", (int)format);
  if (format == TRAINLET_FORMAT_ADAPTERS && !s->adapters.start)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the session has no adapters that could be saved alone: make its artifacts with the option lora");
  TRY(session_check_values(s));
  TRY(state_check_finite(&s->state, IS_LOST, &s->error));
  if (!isfinite(s->lr) || s->lr < 0)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the learning rate is %g: what is saved could not go on with it", (double)s->lr);
  *c = (Checkpoint){.alone = format == TRAINLET_FORMAT_ADAPTERS,
                    .has_optimizer = optimizer_state || is_ours(format), /* ours keeps the learning rate there */
                    .optimizer = s->has_optimizer ? optimizer_name(s->optimizer.kind) : NULL,
                    .step = optimizer_state ? s->steps : 0,
                    .initial_learning_rate = s->checkpoint.has_optimizer ? s->checkpoint.initial_learning_rate
                                                                         : s->optimizer.lr,
                    .learning_rate = s->lr,
                    .properties = s->properties,
                    .property_count = s->property_count,
                    .rng_seed = s->rng.seed,
                    .rng_step = s->rng.step,
                    .fit = s->checkpoint.fit};
  memcpy(c->position, s->checkpoint.position, sizeof c->position);
  TRY(gather_tensors(s, optimizer_state, format, arena, c));
  return s->adapters.start && is_ours(format) ? gather_adapters(s, optimizer_state, arena, c) : STATUS_OK;
}

static Status save(TrainletSession *s, bool optimizer_state, TrainletFormat format) {
  Checkpoint c;
  Arena arena = {0};
  Status status = session_gather(s, optimizer_state, format, &arena, &c);
  if (status == STATUS_OK) status = session_write_checkpoint(s, &c, format);
  arena_free(&arena);
  return status;
}

Status trainlet_session_save(TrainletSession *s, bool optimizer_state, TrainletFormat format) {
  session_enter(s);
  return session_finish_result(s, save(s, optimizer_state, format));
}

/* ---- all parts in one ---- */

static Status compact(TrainletSession *s, TrainletWeights weights) {
  Graph *train = s->models[MODEL_TRAIN].graph;
  if ((unsigned)weights > TRAINLET_WEIGHTS_INT8)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "there are no weights number %d", (int)weights);
  if (s->ready || s->spent || !train || !s->has_checkpoint)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a compact file is made of a session with a training model and a checkpoint, before it is ready");
  TRY(constants_check_used(&s->constants, &s->error));
  TRY(session_check_optimizer(s));
  if (s->checkpoint.adapter || s->has_over)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a compact file holds one adapter and its base: neither several adapters nor an adapterState");
  Compact all;
  all.train = train;
  all.eval = s->models[MODEL_EVAL].graph;
  all.checkpoint = s->checkpoint;
  all.optimizer = s->optimizer;
  if (!s->has_optimizer) all.optimizer.kind = OPTIMIZER_NONE;
  if (!part_compact_write) return part_missing(&s->error, "writer of compact files");
  return part_compact_write(&all, weights, &s->error, &s->result, &s->result_bytes);
}

Status trainlet_session_compact(TrainletSession *s, TrainletWeights weights) {
  session_enter(s);
  return session_finish_result(s, compact(s, weights));
}

/* ---- export ---- */

/* The scores that the loss reads: what artifacts that we did not make predict. */
static const char *scores_name(const Graph *g) {
  const Value *scores = loss_scores(g);
  if (scores) return scores->name;
  return g->output_count ? g->outputs[g->output_count - 1]->name : "";
}

const char *session_default_outputs(TrainletSession *s, Arena *arena) {
  const Graph *eval = s->models[MODEL_EVAL].graph;
  const char *text;
  if (eval) return (text = graph_metadata(eval, OUTPUTS_KEY)) ? text : scores_name(eval);
  const Graph *g = s->models[MODEL_INFERENCE].graph;
  return g ? graph_list_names(g->outputs, g->output_count, "\n", arena) : "";
}

/* The model's own metadata and the classes of a head stay. An empty text is that of a head which is gone. */
static void forget_training(Graph *g) {
  int kept = 0;
  for (int i = 0; i < g->metadata.count; i++) {
    const char *key = g->metadata.keys[i], *text = g->metadata.texts[i];
    if (strcmp(key, OUTPUTS_KEY) == 0 || strcmp(key, SAMPLE_WEIGHT_KEY) == 0) continue;
    if ((strcmp(key, CALIBRATION_KEY) == 0 || strcmp(key, LORA_KEY) == 0) && !*text) continue;
    g->metadata.keys[kept] = key;
    g->metadata.texts[kept++] = text;
  }
  g->metadata.count = kept;
}

/* Copies the calibration of the scores, a property so far, into the model's metadata. */
static Status take_calibration(const TrainletSession *s, Graph *g) {
  for (int i = 0; i < s->property_count; i++) {
    const Property *p = &s->properties[i];
    if (p->kind == PROPERTY_STRING && strcmp(p->name, CALIBRATION_KEY) == 0)
      TRY(graph_set_metadata(g, CALIBRATION_KEY, p->s));
  }
  return STATUS_OK;
}

OPTIONAL(lora_merge, lora_merge);
OPTIONAL(lora_to_inputs, lora_to_inputs);

static Status put_adapters(Graph *g, unsigned adapters) {
  if (!adapters) return STATUS_OK;
  if (adapters == TRAINLET_EXPORT_MERGED && part_lora_merge) return part_lora_merge(g);
  if (adapters == TRAINLET_EXPORT_ADAPTER_INPUTS && part_lora_to_inputs) return part_lora_to_inputs(g);
  return part_missing(g->error, "LoRA");
}

/* The part of the eval graph that the values need; parameters become initializers. */
static Graph *plain_graph(TrainletSession *s, Value *const *wanted, int count, unsigned adapters, Arena *arena) {
  Graph *g = graph_clone(s->models[MODEL_EVAL].graph, arena, &s->error, NULL, wanted, count);
  if (!g) return out_of_memory(s), NULL;
  if (s->models[MODEL_EVAL].has_gradients) rewrite_drop_dead(g); /* second outputs that gradients alone read */
  if (take_calibration(s, g) != STATUS_OK) return NULL;
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_STATE) g->values[i]->kind = VALUE_CONSTANT, g->values[i]->initializer = true;
  if (put_adapters(g, adapters) != STATUS_OK || master_undo(g) != STATUS_OK) return NULL;
  forget_training(g);
  return g;
}

/* Exports the model without labels and loss. A training_info has them in its algorithm. */
static Status export_graph(TrainletSession *s, const char *outputs, unsigned form, unsigned adapters, Arena *arena) {
  Graph *eval = s->models[MODEL_EVAL].graph;
  if (!outputs && !(outputs = session_default_outputs(s, arena))) return out_of_memory(s);
  Value **wanted;
  int count;
  TRY(session_find_values(s, eval, outputs, arena, &wanted, &count));
  Graph *model = plain_graph(s, wanted, count, adapters, arena);
  if (!model) return s->error.status;
  if (form != TRAINLET_EXPORT_TRAINING_INFO)
    return onnx_write(model, form == TRAINLET_EXPORT_TYPES, &s->result, &s->result_bytes);
  if (!part_training_info_check || !part_training_info_write || !part_onnx_write_training)
    return part_missing(&s->error, "writer of training_info");
  TRY(part_training_info_check(s));
  wanted[count] = s->models[MODEL_EVAL].outputs[0];
  Graph *joined = plain_graph(s, wanted, count + 1, adapters, arena);
  if (!joined) return s->error.status;
  OnnxTraining training = {.graph = joined};
  TRY(part_training_info_write(s, wanted[count]->copy, &training));
  return part_onnx_write_training(model, &training, &s->result, &s->result_bytes);
}

static bool has_adapters(const TrainletSession *s) {
  const Graph *eval = s->models[MODEL_EVAL].graph;
  return eval && graph_metadata(eval, LORA_KEY);
}

static Status export(TrainletSession *s, const char *outputs, unsigned asked) {
  unsigned form = asked & 3, adapters = asked & ~3u;
  if (form > TRAINLET_EXPORT_TYPES)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "there is no form number %u of a model", asked);
  if (adapters > TRAINLET_EXPORT_ADAPTER_INPUTS)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "adapters are exported separate, merged or as inputs");
  if (form == TRAINLET_EXPORT_TRAINING_INFO && adapters)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "a training_info goes on with the adapters as they are: export them separate");
  if (adapters && !has_adapters(s))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the model has no adapters: artifacts with the option lora have them");
  if (!s->ready || !s->models[MODEL_EVAL].graph)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "exporting needs a session with an eval model");
  TRY(session_check_values(s));
  TRY(state_check_finite(&s->state, IS_LOST, &s->error));
  Arena arena = {0};
  Status status = export_graph(s, outputs, form, adapters, &arena);
  arena_free(&arena);
  return status;
}

Status trainlet_session_export(TrainletSession *s, const char *outputs, TrainletExport form) {
  session_enter(s);
  return session_finish_result(s, export(s, outputs, (unsigned)form));
}
