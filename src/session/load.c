/* Load: the parts of a session are read, and joined once they are all there. */
#include "session/session.h"

#include <string.h>

#include "compact/compact.h"
#include "ops/accumulator.h"
#include "passes/passes.h"
#include "part.h"
#include "session/external_loss.h"

OPTIONAL(ort_checkpoint_read, ort_checkpoint_read);
OPTIONAL(checkpoint_read, trainlet_checkpoint_read);
OPTIONAL(compact_read, compact_read);
OPTIONAL(onnx_read, onnx_read);
OPTIONAL(onnx_read_inference, onnx_read_inference);
OPTIONAL(optimizer_model_read, optimizer_model_read);
OPTIONAL(set_trainable, session_take_choice);
OPTIONAL(constants, constants_bind);
OPTIONAL(outside, external_loss_prepare);

static Status read_whole(TrainletSession *s, const void *bytes, size_t count, Arena *arena) {
  if (ort_checkpoint_is(bytes, count)) {
    if (!part_ort_checkpoint_read) return part_missing(&s->error, "reader of ONNX Runtime's checkpoints");
    return part_ort_checkpoint_read(bytes, count, &s->external, arena, &s->error, &s->checkpoint);
  }
  if (!part_checkpoint_read) return part_missing(&s->error, "reader of Trainlet's checkpoints");
  return part_checkpoint_read(bytes, count, arena, &s->error, &s->checkpoint);
}

static Status read_checkpoint(TrainletSession *s, const void *bytes, size_t count, Arena *arena) {
  TRY(read_whole(s, bytes, count, arena));
  if (!s->checkpoint.alone) return STATUS_OK;
  return error_set(
      &s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
      "the checkpoint holds adapters alone: give it as adapterState, beside the checkpointState of its base");
}

static Status read_adapters(TrainletSession *s, const void *bytes, size_t count, Arena *arena) {
  if (!part_checkpoint_read || ort_checkpoint_is(bytes, count))
    return error_set(&s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                     "the adapterState is no checkpoint that saveCheckpoint({ base: false }) has written");
  TRY(part_checkpoint_read(bytes, count, arena, &s->error, &s->over));
  if (s->over.alone) return STATUS_OK;
  return error_set(&s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                   "the adapterState is a whole checkpoint: give it as checkpointState");
}

static Graph *read_model(TrainletSession *s, int model, const void *bytes, size_t count, Arena *arena) {
  __typeof__(onnx_read) *read = model == MODEL_INFERENCE ? part_onnx_read_inference : part_onnx_read;
  if (!read) return part_missing(&s->error, "reader of ONNX models"), NULL;
  return read(bytes, count, &s->external, arena, &s->error);
}

static Status read_optimizer(TrainletSession *s, const void *bytes, size_t count) {
  if (!part_optimizer_model_read) return part_missing(&s->error, "reader of optimizer models");
  TRY(part_optimizer_model_read(bytes, count, &s->external, &s->error, &s->optimizer));
  return optimizer_check_part(&s->optimizer, &s->error);
}

void *trainlet_session_external(TrainletSession *s, const char *location, size_t bytes) {
  session_enter(s);
  void *to = external_add(&s->external, location, bytes, &s->arena);
  if (!to) ERROR_MEMORY(&s->error, "for the %zu bytes of external data '%.200s'", bytes, location);
  return session_leave(s, to) == STATUS_OK ? to : NULL;
}

void *trainlet_session_file(TrainletSession *s, size_t bytes) {
  session_enter(s);
  void *to = external_add_file(&s->external, bytes, &s->arena);
  if (!to) ERROR_MEMORY(&s->error, "for a file of %zu bytes", bytes);
  return session_leave(s, to) == STATUS_OK ? to : NULL;
}

void *trainlet_session_constant(TrainletSession *s, const char *name, int type, int rank, const int64_t *dims) {
  session_enter(s);
  void *to = constants_add(&s->constants, name, type, rank, dims, &s->arena, &s->error);
  return session_leave(s, to) == STATUS_OK ? to : NULL;
}

/* Removes again what was loaded of a part. */
static void forget_part(TrainletSession *s, TrainletPart part) {
  bool all = part == TRAINLET_COMPACT;
  for (int m = 0; m < MODEL_COUNT; m++)
    if (m == session_model_of(part) || (all && m != MODEL_INFERENCE)) s->models[m].graph = NULL;
  if (all || part == TRAINLET_CHECKPOINT) s->has_checkpoint = false;
  if (all || part == TRAINLET_OPTIMIZER) s->has_optimizer = false;
  if (part == TRAINLET_ADAPTERS) s->has_over = false;
  arena_free(&s->parts[part]);
}

static Graph *with_constants(TrainletSession *s, Graph *g, Arena *arena) {
  if (!s->constants.first) return g;
  if (!part_constants) return part_missing(&s->error, "constants for inputs"), NULL;
  return part_constants(&s->constants, g, arena, &s->error);
}

/* Takes a graph, with constants for inputs. */
static Status take_graph(TrainletSession *s, int m, Graph *g, Arena *arena) {
  s->models[m].graph = g ? with_constants(s, g, arena) : NULL;
  if (s->error.status == STATUS_OK && budget_missed()) return STATUS_OUT_OF_MEMORY;
  return s->models[m].graph ? s->error.status : STATUS_INTERNAL;
}

static Status read_compact(TrainletSession *s, const void *bytes, size_t count, bool stays) {
  Arena *arena = &s->parts[TRAINLET_COMPACT];
  Compact compact;
  if (!part_compact_read) return part_missing(&s->error, "reader of compact files");
  TRY(part_compact_read(bytes, count, stays, arena, &s->error, &compact));
  TRY(take_graph(s, MODEL_TRAIN, compact.train, arena));
  if (compact.eval) TRY(take_graph(s, MODEL_EVAL, compact.eval, arena));
  s->checkpoint = compact.checkpoint;
  s->optimizer = compact.optimizer;
  TRY(optimizer_check_part(&s->optimizer, &s->error));
  s->has_checkpoint = true;
  s->has_optimizer = compact.optimizer.kind != OPTIMIZER_NONE;
  s->checkpoint.optimizer = s->has_optimizer ? optimizer_name(s->optimizer.kind) : NULL;
  return STATUS_OK;
}

static Status read_part(TrainletSession *s, TrainletPart part, const void *bytes, size_t count) {
  int m = session_model_of(part);
  Arena *arena = &s->parts[part];
  if (part == TRAINLET_COMPACT) return read_compact(s, bytes, count, external_at(&s->external, bytes));
  if (part == TRAINLET_CHECKPOINT) TRY(read_checkpoint(s, bytes, count, arena));
  if (part == TRAINLET_OPTIMIZER) TRY(read_optimizer(s, bytes, count));
  if (part == TRAINLET_ADAPTERS) TRY(read_adapters(s, bytes, count, arena));
  s->has_checkpoint |= part == TRAINLET_CHECKPOINT;
  s->has_optimizer |= part == TRAINLET_OPTIMIZER;
  s->has_over |= part == TRAINLET_ADAPTERS;
  if (m >= 0) return take_graph(s, m, read_model(s, m, bytes, count, arena), arena);
  return s->error.status == STATUS_OK && budget_missed() ? STATUS_OUT_OF_MEMORY : s->error.status;
}

static Status load(TrainletSession *s, TrainletPart part, const void *bytes, size_t count) {
  if (s->ready || s->spent)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "the session is %s: its parts cannot be loaded again",
                     s->ready ? "ready" : "spent");
  if ((unsigned)part > TRAINLET_ADAPTERS)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "there is no part number %d", (int)part);
  ExternalFile *file = external_at(&s->external, bytes);
  if (file && file->spent)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "loading this file in place has failed before: it must be written again");
  forget_part(s, part);
  Status status = read_part(s, part, bytes, count);
  if (file) external_settle(file, status == STATUS_OK, part == TRAINLET_CHECKPOINT || part == TRAINLET_COMPACT);
  if (status != STATUS_OK) forget_part(s, part);
  return status;
}

Status trainlet_session_load(TrainletSession *s, TrainletPart part, const void *bytes, size_t count) {
  session_enter(s);
  return session_leave(s, load(s, part, bytes, count) == STATUS_OK);
}

static void take_checkpoint(TrainletSession *s) {
  const Checkpoint *c = &s->checkpoint;
  if (s->has_optimizer) s->lr = s->optimizer.lr;
  if (c->has_optimizer) s->lr = c->learning_rate, s->steps = c->step;
  s->lacks_values = c->nominal;
  s->rng = (Rng){c->rng_seed, c->rng_step};
  s->properties = c->properties;
  s->property_count = s->property_capacity = c->property_count;
}

static Status take_choice(TrainletSession *s) {
  bool other = false; /* other parameters are to train than the training model has accumulators for */
  for (int i = 0; i < s->state.count; i++)
    other |= s->state.parameters[i].trainable != s->state.parameters[i].accumulated;
  if (!other) return STATUS_OK;
  return part_set_trainable ? part_set_trainable(s) : part_missing(&s->error, "setTrainable");
}

OPTIONAL(averages, state_take_averages);
OPTIONAL(resume_best, state_take_best);

static Status take_best(TrainletSession *s) {
  if (!s->checkpoint.best_count) return STATUS_OK;
  if (!part_resume_best) return part_missing(&s->error, "reader of what training has left in a checkpoint");
  return part_resume_best(&s->state, &s->checkpoint, &s->error);
}

static Status take_averages(TrainletSession *s) {
  if (!s->checkpoint.average_count) return STATUS_OK;
  if (!part_averages) return part_missing(&s->error, "averages of parameters");
  return part_averages(&s->state, &s->checkpoint, &s->error);
}

OPTIONAL(anchors, state_take_anchors);

static Status take_anchors(TrainletSession *s) {
  bool any = s->checkpoint.base_count > 0;
  for (int i = 0; i < s->state.count; i++) any |= s->state.parameters[i].anchor > 0;
  if (!any) return STATUS_OK;
  if (!part_anchors) return part_missing(&s->error, "anchors of parameters");
  return part_anchors(&s->state, &s->checkpoint, &s->arena, &s->error);
}

OPTIONAL(lay_over, session_lay_over);
OPTIONAL(adapters, session_begin_adapters);

static Status lay_over(TrainletSession *s) {
  if (!s->has_over) return STATUS_OK;
  return part_lay_over ? part_lay_over(s) : part_missing(&s->error, "several adapters");
}

/* A build without them has the one of the checkpoint. */
static Status begin_adapters(TrainletSession *s) {
  if (part_adapters) return part_adapters(s);
  return s->checkpoint.adapter ? part_missing(&s->error, "several adapters") : STATUS_OK;
}

/* Names of one update's variants differ in their ends alone: adamw, adamw-hf. */
static bool is_variant(const char *a, const char *b) {
  size_t length = strcspn(a, "-");
  return length == strcspn(b, "-") && memcmp(a, b, length) == 0;
}

Status session_check_optimizer(TrainletSession *s) {
  const Checkpoint *c = &s->checkpoint;
  const char *came = c->optimizer, *ours = optimizer_name(s->optimizer.kind);
  if (!s->has_optimizer || !came || !*came || (!c->step && !c->moment_count) || is_variant(came, ours))
    return STATUS_OK;
  return error_set(&s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                   "the checkpoint has the state of the optimizer %.40s, and the optimizer model is %s: to begin anew "
                   "with that, load it without optimizerModel and save it with optimizerState: false",
                   came, ours);
}

static Status join_parts(TrainletSession *s) {
  Graph *train = s->models[MODEL_TRAIN].graph;
  s->only_plans = s->state.only_plans = s->checkpoint.only_plans;
  if (s->only_plans) s->passes &= ~(1u << PASS_pack); /* it would copy weights */
  TRY(lay_over(s));
  TRY(session_check_optimizer(s));
  TRY(state_create(&s->state, &s->checkpoint, train, &s->optimizer, &s->external, &s->arena, &s->error));
  TRY(begin_adapters(s));
  external_free_unused(&s->external); /* a checkpoint's is in the state now, or stays */
  if (train) TRY(state_add_gradients(&s->state, &s->error));
  if (train && external_loss_yield(train))
    TRY(part_outside ? part_outside(s, train) : part_missing(&s->error, "forward"));
  if (train) TRY(state_bind_accumulators(&s->state, train, &s->reset_flag, &s->error));
  for (int m = 0; m < MODEL_COUNT; m++) {
    if (!s->models[m].graph) continue;
    if (m != MODEL_INFERENCE) TRY(state_bind(&s->state, s->models[m].graph, &s->error));
    TRY(session_prepare_model(s, &s->models[m], &s->arena));
  }
  if (train) {
    s->loaded = train;
    if (!(s->accumulators = ARENA_ARRAY(&s->arena, Value *, train->node_count + s->state.count)))
      return session_out_of_memory(s);
    session_find_accumulators(s, train);
    TRY(take_choice(s));
    TRY(take_best(s));
    TRY(take_averages(s));
    TRY(take_anchors(s));
  }
  if (budget_missed()) return STATUS_OUT_OF_MEMORY;
  take_checkpoint(s);
  return STATUS_OK;
}

static Status make_ready(TrainletSession *s) {
  bool train = s->models[MODEL_TRAIN].graph, eval = s->models[MODEL_EVAL].graph;
  if (s->spent)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the session could not be made ready before: its parts must be loaded into a new one");
  if ((train || eval) && !s->has_checkpoint)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "a training session needs a checkpoint");
  if (!train && !eval && !s->models[MODEL_INFERENCE].graph)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "the session has no model");
  TRY(constants_check_used(&s->constants, &s->error));
  Status status = join_parts(s);
  s->ready = status == STATUS_OK;
  s->spent = !s->ready;
  return status;
}

Status trainlet_session_ready(TrainletSession *s) {
  session_enter(s);
  return session_leave(s, s->ready || make_ready(s) == STATUS_OK);
}
