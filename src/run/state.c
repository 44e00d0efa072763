/* State: lays parameters out in flat blocks and binds graphs to them. */
#include "run/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "ops/ops.h"

static int compare_parameters(const void *a, const void *b) {
  return strcmp((*(Parameter *const *)a)->name, (*(Parameter *const *)b)->name);
}

Parameter *state_find(const State *s, const char *name) {
  Parameter key = {.name = name}, *wanted = &key;
  Parameter **found = s->count ? bsearch(&wanted, s->by_name, (size_t)s->count, sizeof *s->by_name, compare_parameters)
                               : NULL;
  return found ? *found : NULL;
}

/* Training graph's input order first, the rest as the file has it. The checkpoint's reader saw to it that no name comes
 * twice. */
static Status order_parameters(State *s, const Checkpoint *c, const Graph *train, Arena *arena) {
  int count = c->trainable_count + c->frozen_count, placed = 0;
  Parameter *read = ARENA_ARRAY(arena, Parameter, count);
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
    if (p->type != DTYPE_FLOAT32 || v->type != p->type)
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

static void mark_updated(State *s, const Graph *train) {
  for (int i = 0; train && i < train->node_count; i++) {
    const Node *n = train->nodes[i];
    for (int k = 0; n->op->flags & OP_UPDATES && k < UPDATES_MAX; k++) {
      int input = n->op->updates[k];
      Parameter *p = input > 0 && has_in(n, input) ? state_find(s, n->in[input]->name) : NULL;
      if (p) p->updated = true;
    }
  }
}

static bool align(size_t bytes, size_t *out) {
  if (!size_add(bytes, 15, out)) return false;
  *out &= ~(size_t)15;
  return true;
}

/* Sum of the aligned bytes of the parameters of one kind. */
static bool sum_bytes(const State *s, bool trainable, bool updated_only, size_t *total) {
  *total = 0;
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    size_t bytes;
    if (p->trainable != trainable || (updated_only && !p->updated)) continue;
    if (!align(p->bytes, &bytes) || !size_add(*total, bytes, total)) return false;
  }
  return true;
}

static Status no_room(const State *s, Error *error) {
  return error_set(error, STATUS_OUT_OF_MEMORY, NULL,
                   "out of memory: parameters, gradients and optimizer state need %zu bytes", s->total_bytes);
}

/* Room for all values, and for the moments that the optimizer keeps. */
static Status allocate(State *s, bool trains, int moments, Error *error) {
  size_t flat, frozen, undos, values, total;
  bool fits = sum_bytes(s, true, false, &flat) && sum_bytes(s, false, false, &frozen) &&
              sum_bytes(s, false, true, &s->undo_bytes) && size_multiply(s->undo_bytes, 2, &undos) &&
              size_add(flat, frozen, &values) && size_add(values, undos, &values) &&
              size_multiply(flat, (size_t)(trains + moments), &total) && size_add(total, values, &total);
  s->total_bytes = fits ? total : SIZE_MAX;
  if (!fits || (double)total > budget_room() || !block_reserve_zeroed(&s->values, values)) return no_room(s, error);
  if (moments && !block_reserve_zeroed(&s->moment_block, flat * (size_t)moments)) return no_room(s, error);
  s->flat_count = flat / sizeof(float);
  s->trainable = s->values.data;
  for (int k = 0; k < moments; k++) s->moments[k] = (float *)s->moment_block.data + (size_t)k * s->flat_count;
  char *to = s->values.data, *frozen_at = to + flat;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    char **cursor = p->trainable ? &to : &frozen_at;
    p->data = *cursor;
    *cursor += (p->bytes + 15) & ~(size_t)15;
  }
  s->undo = frozen_at;
  return STATUS_OK;
}

Status state_add_gradients(State *s, Error *error) {
  if (!block_reserve_zeroed(&s->gradient_block, s->flat_count * sizeof(float))) return no_room(s, error);
  s->gradients = s->gradient_block.data;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (p->trainable) p->grad = s->gradients + ((float *)p->data - s->trainable);
  }
  return STATUS_OK;
}

/* Infinities and NaNs; with `twice`, NaNs again, so that an infinity that became one shows. */
static size_t count_strange(const float *x, size_t bytes, bool twice) {
  size_t count = 0;
  for (size_t i = 0; i < bytes / sizeof *x; i++) count += (size_t)!isfinite(x[i]) + (size_t)(twice && isnan(x[i]));
  return count;
}

static float *moment_of(const State *s, const Parameter *p, int k) {
  return p->trainable && s->moments[k] ? s->moments[k] + ((float *)p->data - s->trainable) : NULL;
}

void state_trust(Parameter *p) {
  p->strange[0] = p->type == DTYPE_FLOAT32 ? count_strange(p->data, p->bytes, true) : 0;
}

static void copy_values(State *s, const Checkpoint *c) {
  for (int i = 0; !c->nominal && i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (p->bytes) memcpy(p->data, p->start, p->bytes);
    if (p->trainable || p->updated) state_trust(p);
  }
}

static Status copy_moments(State *s, const Checkpoint *c, const Optimizer *o, Error *error) {
  int wanted = optimizer_moment_count(o);
  for (int i = 0; o->kind != OPTIMIZER_NONE && i < c->moment_count; i++) {
    const CheckpointMoments *m = &c->moments[i];
    Parameter *p = state_find(s, m->parameter);
    if (!p || !p->trainable)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint has optimizer state for '%.200s', which is no trainable parameter",
                       m->parameter);
    if (m->count == 1 && wanted == 0) continue; /* ONNX Runtime saves zeros for plain SGD */
    if (m->count != wanted)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint has %d moments for '%.200s', the optimizer %s keeps %d", m->count, m->parameter,
                       optimizer_name(o->kind), wanted);
    for (int k = 0; k < wanted; k++) {
      if (m->moment[k].bytes != p->bytes)
        return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                         "the checkpoint's moment of '%.200s' has %zu bytes, the parameter %zu", m->parameter,
                         m->moment[k].bytes, p->bytes);
      memcpy(moment_of(s, p, k), m->moment[k].data, p->bytes);
      p->strange[1 + k] = count_strange(moment_of(s, p, k), p->bytes, true);
    }
  }
  return STATUS_OK;
}

Status state_create(State *s, const Checkpoint *c, Graph *train, const Optimizer *o, Arena *arena, Error *error) {
  if (order_parameters(s, c, train, arena) != STATUS_OK)
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the parameters");
  if (c->nominal) TRY(take_shapes(s, train, error));
  mark_updated(s, train);
  for (int i = 0; i < s->count; i++)
    if (s->parameters[i].trainable && s->parameters[i].type != DTYPE_FLOAT32)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "trainable parameter '%.200s' is %s, it must be float32", s->parameters[i].name,
                       dtype_name(s->parameters[i].type));
  TRY(allocate(s, train, train ? optimizer_moment_count(o) : 0, error));
  copy_values(s, c);
  return train ? copy_moments(s, c, o, error) : STATUS_OK;
}

/* ---- binding graphs ---- */

static Status bind_value(Value *v, const Parameter *p, void *data, Error *error) {
  char wanted[SHAPE_TEXT], came[SHAPE_TEXT];
  if (v->type != p->type || !shape_equal(&v->shape, &p->shape))
    return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                     "parameter '%.100s' is %s %s in the model and %s %s in the checkpoint", p->name,
                     dtype_name(v->type), shape_print(&v->shape, wanted), dtype_name(p->type),
                     shape_print(&p->shape, came));
  v->kind = VALUE_STATE;
  v->data = data;
  return STATUS_OK;
}

/* The parameter that a graph's accumulation buffer collects for: "<name>_grad.accumulation.buffer". */
static Parameter *accumulated_parameter(const State *s, const Value *buffer, Arena *arena) {
  static const char tail[] = "_grad.accumulation.buffer";
  size_t length = strlen(buffer->name), tail_length = sizeof tail - 1;
  if (length <= tail_length || strcmp(buffer->name + length - tail_length, tail) != 0) return NULL;
  const char *name = arena_print(arena, "%.*s", (int)(length - tail_length), buffer->name);
  return name ? state_find(s, name) : NULL;
}

/* The flag is an input of the model and of one element; many accumulators share it. */
static Status bind_reset_flag(Node *n, uint8_t *reset_flag, Error *error) {
  Value *flag = has_in(n, 2) ? n->in[2] : NULL;
  size_t count;
  if (!flag || (flag->kind != VALUE_INPUT && flag->data != reset_flag) || !shape_count(&flag->shape, &count) ||
      count != 1)
    return error_set(error, STATUS_INVALID_MODEL, n->name,
                     "InPlaceAccumulatorV2 '%.128s': input 2 must be one flag among the model's inputs", n->name);
  flag->kind = VALUE_STATE;
  flag->data = reset_flag;
  return STATUS_OK;
}

Status state_bind_accumulators(State *s, Graph *g, uint8_t *reset_flag, Error *error) {
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if (!op_is_accumulator(n)) continue;
    if (n->in[0]->kind != VALUE_INPUT || !has_out(n, 0))
      return error_set(
          error, STATUS_INVALID_MODEL, n->name,
          "InPlaceAccumulatorV2 '%.128s': its buffer must be an input of the model for it alone, and its output named",
          n->name);
    Parameter *p = accumulated_parameter(s, n->in[0], g->arena);
    if (!p || !p->grad)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, n->name,
                       "the model accumulates gradients in '%.200s', the checkpoint has no such trainable parameter",
                       n->in[0]->name);
    TRY(bind_value(n->in[0], p, p->grad, error));
    p->accumulated = true;
    TRY(bind_reset_flag(n, reset_flag, error));
  }
  return STATUS_OK;
}

Status state_bind(State *s, Graph *g, Error *error) {
  int kept = 0;
  for (int i = 0; i < g->input_count; i++) {
    Value *v = g->inputs[i];
    Parameter *p = v->kind == VALUE_INPUT ? state_find(s, v->name) : NULL;
    if (p) TRY(bind_value(v, p, p->data, error));
    if (p) v->fixed = !p->trainable && !p->updated;
    if (v->kind == VALUE_INPUT) g->inputs[kept++] = v;
  }
  g->input_count = kept;
  return STATUS_OK;
}

void state_zero_gradients(State *s) {
  if (s->flat_count) memset(s->gradients, 0, s->flat_count * sizeof(float));
}

/* ---- statistics ---- */

static void copy_statistics(State *s, Undo undo, bool restore) {
  char *at = s->undo + (undo == UNDO_GROUP ? s->undo_bytes : 0);
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (!p->updated || p->trainable) continue;
    memcpy(restore ? p->data : at, restore ? at : p->data, p->bytes);
    at += (p->bytes + 15) & ~(size_t)15;
  }
}
void state_keep_statistics(State *s, Undo undo) { copy_statistics(s, undo, false); }
void state_restore_statistics(State *s, Undo undo) { copy_statistics(s, undo, true); }

/* ---- the best so far ---- */

static size_t best_bytes(const Parameter *p) { return p->trainable || p->updated ? (p->bytes + 15) & ~(size_t)15 : 0; }

Status state_keep_best(State *s, Error *error) {
  size_t bytes = 0;
  for (int i = 0; i < s->count; i++) bytes += best_bytes(&s->parameters[i]); /* fits: they are in memory once */
  if (!s->best.data) {
    s->total_bytes += bytes;
    if (!block_reserve(&s->best, bytes)) {
      no_room(s, error);
      s->total_bytes -= bytes;
      return error->status;
    }
  }
  char *at = s->best.data;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (!best_bytes(p)) continue;
    p->best = memcpy(at, p->data, p->bytes);
    at += best_bytes(p);
  }
  return STATUS_OK;
}

void state_restore_best(State *s) {
  for (int i = 0; i < s->count; i++)
    if (s->parameters[i].best) memcpy(s->parameters[i].data, s->parameters[i].best, s->parameters[i].bytes);
}

void state_forget_best(State *s) {
  for (int i = 0; i < s->count; i++) {
    if (s->parameters[i].best) s->total_bytes -= best_bytes(&s->parameters[i]);
    s->parameters[i].best = NULL;
  }
  block_free(&s->best);
}

Status state_take_best(State *s, const Checkpoint *c, Error *error) {
  if (!c->best_count) return STATUS_OK;
  TRY(state_keep_best(s, error));
  for (int i = 0; i < c->best_count; i++) {
    const CheckpointTensor *t = &c->best[i];
    const Parameter *p = state_find(s, t->name);
    if (!p || !p->best || p->type != t->type || p->bytes != t->bytes)
      return error_set(
          error, STATUS_CHECKPOINT_MISMATCH, NULL,
          "the checkpoint's best '%.200s' is none of the parameters that training changes, or of another size",
          t->name);
    memcpy(p->best, t->data, t->bytes);
  }
  return STATUS_OK;
}

Status state_check_finite(const State *s, Error *error) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    const float *parts[] = {p->type == DTYPE_FLOAT32 && (p->trainable || p->updated) ? p->data : NULL,
                            moment_of(s, p, 0), moment_of(s, p, 1)};
    for (int k = 0; k < 3; k++)
      if (parts[k] && count_strange(parts[k], p->bytes, true) > p->strange[k])
        return error_set(error, STATUS_NON_FINITE_LOSS, NULL,
                         "%s '%.200s' has %zu values that are not finite: training has made them so, and what is saved "
                         "could not go on",
                         k ? "the optimizer's state of" : "parameter", p->name,
                         count_strange(parts[k], p->bytes, false));
  }
  return STATUS_OK;
}

void state_free(State *s) {
  block_free(&s->values);
  block_free(&s->gradient_block);
  block_free(&s->moment_block);
  block_free(&s->best);
  *s = (State){0};
}
