/* State: lays parameters, gradients and moments out in flat blocks. */
#include "state/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "graph/op.h"
#include "part.h"

static int compare_parameters(const void *a, const void *b) {
  return strcmp((*(Parameter *const *)a)->name, (*(Parameter *const *)b)->name);
}

Parameter *state_find(const State *s, const char *name) {
  Parameter key = {.name = name}, *wanted = &key;
  Parameter **found = s->count ? bsearch(&wanted, s->by_name, (size_t)s->count, sizeof *s->by_name, compare_parameters)
                               : NULL;
  return found ? *found : NULL;
}

/* First in the order of the training graph's inputs, the rest as in the file. The checkpoint's reader has made sure
 * that no name comes twice. */
static Status order_in(State *s, const Checkpoint *c, const Graph *train, Arena *arena, Arena *scratch) {
  int count = c->trainable_count + c->frozen_count, placed = 0;
  Parameter *read = ARENA_ARRAY(scratch, Parameter, count);
  s->parameters = ARENA_ARRAY(arena, Parameter, count);
  s->by_name = ARENA_ARRAY(arena, Parameter *, count);
  if (!read || !s->parameters || !s->by_name) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < count; i++) {
    bool trainable = i < c->trainable_count;
    const CheckpointTensor *t = trainable ? &c->trainable[i] : &c->frozen[i - c->trainable_count];
    read[i] = (Parameter){.name = t->name,
                          .type = t->type,
                          .shape = t->shape,
                          .trainable = trainable,
                          .least = -INFINITY,
                          .most = INFINITY,
                          .lr_scale = 1,
                          .bytes = t->bytes,
                          .start = t->data};
    s->by_name[i] = &read[i];
  }
  s->count = count;
  qsort(s->by_name, (size_t)count, sizeof *s->by_name, compare_parameters);
  for (int i = 0; train && i < train->input_count; i++) {
    Parameter *p = state_find(s, train->inputs[i]->name);
    if (!p || p->placed) continue;
    p->placed = true;
    s->parameters[placed++] = *p;
  }
  for (int i = 0; i < count; i++)
    if (!read[i].placed) s->parameters[placed++] = read[i];
  for (int i = 0; i < count; i++) s->by_name[i] = &s->parameters[i];
  qsort(s->by_name, (size_t)count, sizeof *s->by_name, compare_parameters);
  return STATUS_OK;
}

static Status order_parameters(State *s, const Checkpoint *c, const Graph *train, Arena *arena) {
  Arena scratch = {.temporary = true};
  Status status = order_in(s, c, train, arena, &scratch);
  arena_free(&scratch);
  return status;
}

/* A nominal checkpoint has names and types: the training graph knows the shapes. */
static Status take_shapes(State *s, const Graph *train, Error *error) {
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    const Value *v = train ? graph_find(train, p->name) : NULL;
    size_t count;
    if (!v || v->kind != VALUE_INPUT)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint is nominal, and %s has no input '%.200s' to take its shape from",
                       train ? "the training model" : "a session without a training model", p->name);
    if ((p->type != DTYPE_FLOAT32 && !s->only_plans) || v->type != p->type)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint is nominal, so its parameters must be float32: '%.200s' is %s in it and %s in "
                       "the training model",
                       p->name, dtype_name(p->type), dtype_name(v->type));
    if (!shape_count(&v->shape, &count) || !size_multiply(count, dtype_bytes(p->type), &p->bytes))
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint is nominal, and the training model does not tell the size of '%.200s'", p->name);
    p->shape = v->shape;
  }
  return STATUS_OK;
}

static bool align(size_t bytes, size_t *out) {
  if (!size_add(bytes, 15, out)) return false;
  *out &= ~(size_t)15;
  return true;
}

/* Sum of the aligned bytes of the parameters that are `wanted`. */
static bool sum_bytes(const State *s, bool (*wanted)(const Parameter *p), size_t *total) {
  *total = 0;
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    size_t bytes;
    if (wanted(p) && (!align(p->bytes, &bytes) || !size_add(*total, bytes, total))) return false;
  }
  return true;
}
static bool is_copied(const Parameter *p) { return !p->data; }
static bool is_trainable(const Parameter *p) { return p->trainable; }
static bool is_updated(const Parameter *p) { return p->updated && !p->trainable; }
static bool lacks_moments(const Parameter *p) { return p->trainable && !p->moment[0]; }

Status state_no_room(const State *s, Error *error) {
  return error_memory_bytes(error, "parameters, gradients and optimizer state need", s->total_bytes);
}

/* True if the budget leaves room for all the blocks. */
static bool has_room(State *s, bool trains, size_t values) {
  size_t trainable, updated, total;
  bool fits = sum_bytes(s, is_trainable, &trainable) && sum_bytes(s, is_updated, &updated) &&
              size_multiply(trainable, (size_t)(trains + s->moment_count), &total) &&
              size_multiply(updated, 2, &updated) && size_add(total, updated, &total) &&
              size_add(total, values, &total);
  s->total_bytes = fits ? total : SIZE_MAX;
  return fits && (double)total <= budget_room();
}

enum { STAYS_LEAST = 1 << 24 };

static bool may_stay(const Parameter *p, const ExternalFile *file) {
  const char *at = p->start, *begin = file->block.data;
  bool inside = at && begin && at >= begin && at < begin + file->bytes;
  return inside && !p->trainable && !p->updated && (uintptr_t)at % dtype_raw_bytes(p->type) == 0;
}

/* Leaves the weights in the file's buffer if most of it would be copied and then freed. */
static void leave_in_place(State *s, External *external) {
  for (int f = 0; external && f < external->count; f++) {
    ExternalFile *file = &external->files[f];
    size_t bytes = 0;
    for (int i = 0; i < s->count; i++)
      if (may_stay(&s->parameters[i], file)) bytes += s->parameters[i].bytes;
    if (bytes < STAYS_LEAST || bytes < file->bytes / 4 * 3) continue;
    for (int i = 0; i < s->count; i++)
      if (may_stay(&s->parameters[i], file)) s->parameters[i].data = (void *)(uintptr_t)s->parameters[i].start;
    s->in_place_bytes += bytes;
    file->in_place = true;
  }
}

/* Room for all values. */
static Status allocate(State *s, bool trains, Error *error) {
  size_t values;
  if (!sum_bytes(s, is_copied, &values)) values = SIZE_MAX;
  if (!has_room(s, trains, values) || !block_reserve_zeroed(&s->values, values)) return state_no_room(s, error);
  s->total_bytes = values + s->in_place_bytes;
  char *to = s->values.data;
  for (int trainable = 1; trainable >= 0; trainable--)
    for (int i = 0; i < s->count; i++) {
      Parameter *p = &s->parameters[i];
      if (p->data || p->trainable != (trainable == 1)) continue;
      p->data = to;
      to += parameter_padded_bytes(p);
    }
  return STATUS_OK;
}

/* A block of zeros, in place of the existing one. */
static void take_gradients(State *s, Block made, size_t bytes) {
  s->total_bytes += bytes - s->gradient_count * sizeof(float);
  block_free(&s->gradients);
  s->gradients = made;
  s->gradient_count = bytes / sizeof(float);
  char *at = made.data;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    p->grad = p->trainable ? (float *)at : NULL;
    if (p->trainable) at += parameter_padded_bytes(p);
  }
}

Status state_add_gradients(State *s, Error *error) {
  size_t bytes;
  Block made = {0};
  sum_bytes(s, is_trainable, &bytes); /* fits: the values do */
  if (!block_reserve_zeroed(&made, bytes)) return state_no_room(s, error);
  take_gradients(s, made, bytes);
  return STATUS_OK;
}

/* Makes moments, all zeros, for parameters that train and have none. */
static Status add_moments(State *s, Error *error) {
  size_t bytes, all;
  bool fits = sum_bytes(s, lacks_moments, &bytes) && size_multiply(bytes, (size_t)s->moment_count, &all);
  if (fits && !all) return STATUS_OK;
  char *at = fits ? arena_alloc(&s->moments, all) : NULL;
  s->total_bytes += all;
  if (!at) {
    state_no_room(s, error);
    s->total_bytes -= all;
    return error->status;
  }
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (!lacks_moments(p)) continue;
    for (int k = 0; k < s->moment_count; k++) p->moment[k] = (float *)(at + (size_t)k * bytes);
    at += parameter_padded_bytes(p);
  }
  return STATUS_OK;
}

/* ---- statistics ---- */

/* Marks the parameters that a train run writes in its forward pass. */
static void mark_updated(State *s, const Graph *train) {
  for (int i = 0; i < s->count; i++) s->parameters[i].updated = false;
  for (int i = 0; train && i < train->node_count; i++) {
    const Node *n = train->nodes[i];
    for (int k = 0; n->op->flags & OP_UPDATES && k < UPDATES_MAX; k++) {
      int input = n->op->updates[k];
      Parameter *p = input > 0 && has_in(n, input) ? state_find(s, n->in[input]->name) : NULL;
      if (p) p->updated = true;
    }
  }
}

static void take_undo(State *s, Block made, size_t bytes) {
  s->total_bytes += 2 * (bytes - s->undo_bytes);
  block_free(&s->undo);
  s->undo = made;
  s->undo_bytes = bytes;
}

static Status add_undo(State *s, Error *error) {
  size_t bytes;
  Block made = {0};
  sum_bytes(s, is_updated, &bytes);
  if (bytes && !block_reserve(&made, 2 * bytes)) return state_no_room(s, error);
  take_undo(s, made, bytes);
  return STATUS_OK;
}

static void copy_statistics(State *s, Undo undo, bool restore) {
  char *at = s->undo.data;
  if (at && undo == UNDO_GROUP) at += s->undo_bytes;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (!is_updated(p)) continue;
    memcpy(restore ? p->data : at, restore ? at : p->data, p->bytes);
    at += parameter_padded_bytes(p);
  }
}
void state_keep_statistics(State *s, Undo undo) { copy_statistics(s, undo, false); }
void state_restore_statistics(State *s, Undo undo) { copy_statistics(s, undo, true); }

/* ---- what a checkpoint brings ---- */

/* Counts infinities and NaNs; with `twice`, NaNs twice, so that an infinity that became a NaN shows. */
static size_t count_non_finite(const float *x, size_t bytes, bool twice) {
  size_t count = 0;
  for (size_t i = 0; i < bytes / sizeof *x; i++) count += (size_t)!isfinite(x[i]) + (size_t)(twice && isnan(x[i]));
  return count;
}

bool state_is_finite(const Parameter *p) { return !count_non_finite(p->data, p->bytes, false); }

void state_trust(Parameter *p) {
  p->non_finite[0] = p->type == DTYPE_FLOAT32 ? count_non_finite(p->data, p->bytes, true) : 0;
}

static void copy_values(State *s, const Checkpoint *c) {
  for (int i = 0; !c->nominal && i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (p->bytes && p->data != p->start) memcpy(p->data, p->start, p->bytes);
    if (p->trainable || p->updated) state_trust(p);
  }
}

/* Copies the moments. Those of a frozen parameter are kept until it trains again. */
static Status copy_moments(State *s, const Checkpoint *c, const Optimizer *o, Error *error) {
  int wanted = s->moment_count;
  for (int i = 0; i < c->moment_count; i++) {
    const CheckpointMoments *m = &c->moments[i];
    Parameter *p = state_find(s, m->parameter);
    if (!p || p->type != DTYPE_FLOAT32)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint has optimizer state for '%.200s', which is no float32 parameter", m->parameter);
    if (m->count == 1 && wanted == 0) continue; /* ONNX Runtime saves zeros for plain SGD */
    if (m->count != wanted)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint has %d moments for '%.200s', the optimizer %s keeps %d", m->count, m->parameter,
                       optimizer_name(o->kind), wanted);
    p->steps = m->steps;
    for (int k = 0; k < wanted; k++) {
      if (m->moment[k].bytes != p->bytes)
        return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                         "the checkpoint's moment of '%.200s' has %zu bytes, the parameter %zu", m->parameter,
                         m->moment[k].bytes, p->bytes);
      if (!p->moment[k] && !(p->moment[k] = arena_alloc(&s->moments, p->bytes))) return state_no_room(s, error);
      memcpy(p->moment[k], m->moment[k].data, p->bytes);
      p->non_finite[1 + k] = count_non_finite(p->moment[k], p->bytes, true);
    }
  }
  return STATUS_OK;
}

static Status copy_groups(State *s, const Checkpoint *c, Error *error) {
  for (int i = 0; i < c->group_count; i++) {
    const CheckpointGroup *g = &c->groups[i];
    Parameter *p = state_find(s, g->parameter);
    if (!p || p->type != DTYPE_FLOAT32)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint has '%.200s' in a group, which is no float32 parameter", g->parameter);
    p->lr_scale = g->lr_scale;
    p->weight_decay = g->weight_decay;
    p->anchor = g->anchor;
  }
  return STATUS_OK;
}

static Status copy_bounds(State *s, const Checkpoint *c, Error *error) {
  for (int i = 0; i < c->bound_count; i++) {
    const CheckpointBounds *b = &c->bounds[i];
    Parameter *p = state_find(s, b->parameter);
    if (!p || p->type != DTYPE_FLOAT32)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint bounds '%.200s', which is no float32 parameter", b->parameter);
    p->least = b->least;
    p->most = b->most;
  }
  return STATUS_OK;
}

OPTIONAL(nominal, take_shapes);
OPTIONAL(resume_moments, copy_moments);
OPTIONAL(resume_groups, copy_groups);
OPTIONAL(resume_bounds, copy_bounds);

/* Copies the training state of the checkpoint besides the values. */
static Status copy_rest(State *s, const Checkpoint *c, const Graph *train, const Optimizer *o, Error *error) {
  for (int i = 0; i < s->count; i++) s->parameters[i].weight_decay = o->weight_decay;
  bool moments = train && o->kind != OPTIMIZER_NONE && c->moment_count;
  if (!part_resume_moments && (c->bound_count || c->group_count || moments))
    return part_missing(error, "reader of what training has left in a checkpoint");
  if (c->bound_count) TRY(part_resume_bounds(s, c, error));
  if (c->group_count) TRY(part_resume_groups(s, c, error));
  return moments ? part_resume_moments(s, c, o, error) : STATUS_OK;
}

Status state_create(State *s, const Checkpoint *c, Graph *train, const Optimizer *o, External *external, Arena *arena,
                    Error *error) {
  if (order_parameters(s, c, train, arena) != STATUS_OK) return error_memory(error, "for the parameters");
  if (c->nominal) TRY(part_nominal ? part_nominal(s, train, error) : part_missing(error, "nominal checkpoints"));
  for (int i = 0; i < s->count; i++)
    if (s->parameters[i].trainable && s->parameters[i].type != DTYPE_FLOAT32)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "trainable parameter '%.200s' is %s, it must be float32", s->parameters[i].name,
                       dtype_name(s->parameters[i].type));
  s->moment_count = train ? optimizer_moment_count(o) : 0;
  mark_updated(s, train);
  leave_in_place(s, external);
  TRY(allocate(s, train, error));
  TRY(add_undo(s, error));
  copy_values(s, c);
  if (train) TRY(add_moments(s, error));
  for (int i = 0; train && i < s->count; i++) s->parameters[i].steps = s->parameters[i].trainable ? c->step : 0;
  return copy_rest(s, c, train, o, error);
}

/* ---- another choice of what trains ---- */

typedef struct Roles {
  bool trainable, updated;
} Roles;

/* All or nothing: the roles determine what there must be room for. */
static Status take_roles(State *s, Error *error) {
  size_t gradient_bytes, undo_bytes;
  Block gradients = {0}, undo = {0};
  sum_bytes(s, is_trainable, &gradient_bytes);
  sum_bytes(s, is_updated, &undo_bytes);
  s->total_bytes += gradient_bytes; /* for the sentence: at this point both blocks exist */
  bool fits = block_reserve_zeroed(&gradients, gradient_bytes) && block_reserve(&undo, 2 * undo_bytes);
  if (!fits || add_moments(s, error) != STATUS_OK) {
    block_free(&gradients);
    block_free(&undo);
    state_no_room(s, error);
    s->total_bytes -= gradient_bytes;
    return error->status;
  }
  s->total_bytes -= gradient_bytes;
  take_gradients(s, gradients, gradient_bytes);
  take_undo(s, undo, undo_bytes);
  return STATUS_OK;
}

Status state_choose(State *s, const Graph *train, const bool *trains, Arena *scratch, Error *error) {
  Roles *before = ARENA_ARRAY(scratch, Roles, s->count);
  if (!before) return state_no_room(s, error);
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    before[i] = (Roles){p->trainable, p->updated};
    p->trainable = trains[i];
  }
  mark_updated(s, train);
  Status status = take_roles(s, error);
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    bool fresh = (p->trainable || p->updated) && !(before[i].trainable || before[i].updated);
    if (status != STATUS_OK) p->trainable = before[i].trainable, p->updated = before[i].updated;
    else if (fresh) state_trust(p);
  }
  if (status == STATUS_OK) state_forget_best(s), state_forget_averages(s);
  return status;
}

void state_forget_best(State *s) {
  for (int i = 0; i < s->count; i++) {
    if (s->parameters[i].best) s->total_bytes -= parameter_best_bytes(&s->parameters[i]);
    s->parameters[i].best = NULL;
  }
  block_free(&s->best);
}

/* Values, moment 0, moment 1 (`part`) of a parameter that have more infinities and NaNs than came from outside. */
static Status check_part(const Parameter *p, int part, const char *why, Error *error) {
  const float *x = part ? p->moment[part - 1] : p->data;
  if (!x || count_non_finite(x, p->bytes, true) <= p->non_finite[part]) return STATUS_OK;
  return error_set(error, STATUS_NON_FINITE_LOSS, NULL, "%s '%.200s' has %zu values that are not finite: %s",
                   part         ? "the optimizer's state of"
                   : p->updated ? "running statistic"
                                : "parameter",
                   p->name, count_non_finite(x, p->bytes, false), why);
}

Status state_check_finite(const State *s, const char *why, Error *error) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    if (p->type == DTYPE_FLOAT32 && (p->trainable || p->updated)) TRY(check_part(p, 0, why, error));
    for (int k = 1; k < 3; k++) TRY(check_part(p, k, why, error));
  }
  return STATUS_OK;
}

Status state_check_statistics(State *s, Error *error) {
  for (int i = 0; i < s->count; i++)
    if (is_updated(&s->parameters[i]) &&
        check_part(&s->parameters[i], 0, "no parameter was changed", error) != STATUS_OK)
      return state_restore_statistics(s, UNDO_RUN), error->status;
  return STATUS_OK;
}

void state_free(State *s) {
  block_free(&s->values);
  block_free(&s->gradients);
  block_free(&s->undo);
  arena_free(&s->moments);
  block_free(&s->best);
  block_free(&s->averages);
  block_free(&s->bases);
  *s = (State){0};
}

void state_forget_averages(State *s) {
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (p->average) s->total_bytes -= parameter_padded_bytes(p);
    p->average = NULL;
  }
  s->averaged = false;
  block_free(&s->averages);
}
