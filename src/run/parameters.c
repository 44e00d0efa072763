/* The session's parameters, learning rate, seed, data position and property bag, as the public API shows them. */
#include <math.h>
#include <string.h>

#include "run/session.h"

double trainlet_session_lr(const TrainletSession *s) { return s->lr; }
void trainlet_session_set_lr(TrainletSession *s, double lr) { s->lr = (float)lr; }
int64_t trainlet_session_steps(const TrainletSession *s) { return s->steps; }
void trainlet_session_set_seed(TrainletSession *s, uint64_t seed) { s->rng = s->group_rng = (Rng){.seed = seed}; }

int trainlet_session_parameter_count(const TrainletSession *s) { return s->state.count; }

TrainletTensor trainlet_session_parameter(TrainletSession *s, int i) {
  if (i < 0 || i >= s->state.count) return (TrainletTensor){0};
  const Parameter *p = &s->state.parameters[i];
  if (!p->trainable) s->transition.packed.stale = true; /* the caller may write it before the next run */
  return (TrainletTensor){p->name, p->type, p->shape.rank, p->shape.dim, p->data, shape_elements(&p->shape), p->bytes};
}

bool trainlet_session_parameter_trainable(const TrainletSession *s, int i) { return i >= 0 && i < s->state.count && s->state.parameters[i].trainable; }

static bool is_contiguous_part(const Parameter *p, bool trainable_only) { return p->type == DTYPE_FLOAT32 && (p->trainable || !trainable_only); }

size_t trainlet_session_element_count(const TrainletSession *s, bool trainable_only) {
  size_t count = 0;
  for (int i = 0; i < s->state.count; i++)
    if (is_contiguous_part(&s->state.parameters[i], trainable_only)) count += s->state.parameters[i].bytes / sizeof(float);
  return count;
}

void trainlet_session_copy_out(const TrainletSession *s, bool trainable_only, float *to) {
  char *at = (char *)to;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!is_contiguous_part(p, trainable_only)) continue;
    memcpy(at, p->data, p->bytes);
    at += p->bytes;
  }
}

void trainlet_session_copy_in(TrainletSession *s, bool trainable_only, const float *from) {
  const char *at = (const char *)from;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!is_contiguous_part(p, trainable_only)) continue;
    memcpy(p->data, at, p->bytes);
    at += p->bytes;
    state_trust(&s->state.parameters[i]);
  }
  if (!trainable_only) s->lacks_values = false, s->transition.packed.stale = true;
}

int64_t trainlet_session_position(const TrainletSession *s, int i) { return i >= 0 && i < POSITION_COUNT ? s->checkpoint.position[i] : 0; }
void trainlet_session_set_position(TrainletSession *s, int i, int64_t value) {
  if (i >= 0 && i < POSITION_COUNT) s->checkpoint.position[i] = value;
}

const char *trainlet_session_fit(const TrainletSession *s) { return s->checkpoint.fit ? s->checkpoint.fit : ""; }

Status trainlet_session_set_fit(TrainletSession *s, const char *text) {
  error_clear(&s->error);
  size_t bytes = strlen(text) + 1;
  s->checkpoint.fit = NULL;
  if (!block_reserve(&s->fit, bytes)) return error_set(&s->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for where the fit stands");
  if (*text) s->checkpoint.fit = memcpy(s->fit.data, text, bytes);
  return STATUS_OK;
}

Status trainlet_session_best(TrainletSession *s, TrainletBest what) {
  error_clear(&s->error);
  if (!s->ready) return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "the session is not ready: there are no parameters to keep");
  if (what == TRAINLET_BEST_KEEP) return state_keep_best(&s->state, s->limit_bytes, &s->error);
  if (what == TRAINLET_BEST_RESTORE) state_restore_best(&s->state);
  else state_forget_best(&s->state);
  return STATUS_OK;
}

/* ---- property bag ---- */

static Property *find_property(const TrainletSession *s, const char *name) {
  for (int i = 0; i < s->property_count; i++)
    if (strcmp(s->properties[i].name, name) == 0) return &s->properties[i];
  return NULL;
}

static Property *property_to_set(TrainletSession *s, const char *name, PropertyKind kind) {
  Property *p = find_property(s, name);
  if (!p) {
    Property *grown = arena_list_grow(&s->arena, s->properties, s->property_count, &s->property_capacity, sizeof *s->properties);
    const char *copy = arena_copy_text(&s->arena, name);
    if (!grown || !copy) return error_set(&s->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for property '%.100s'", name), NULL;
    s->properties = grown;
    p = &s->properties[s->property_count++];
    p->name = copy;
  }
  p->kind = kind;
  return p;
}

Status trainlet_session_property_set_int(TrainletSession *s, const char *name, int64_t value) {
  error_clear(&s->error);
  TRY(property_check(name, NULL, &s->error));
  Property *p = property_to_set(s, name, PROPERTY_INT);
  if (p) p->i = value;
  return s->error.status;
}

Status trainlet_session_property_set_float(TrainletSession *s, const char *name, double value) {
  error_clear(&s->error);
  TRY(property_check(name, NULL, &s->error));
  if (!isfinite((float)value)) return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "property '%.128s' must be a number that a float32 can hold, not %g", name, value);
  Property *p = property_to_set(s, name, PROPERTY_FLOAT);
  if (p) p->f = (float)value;
  return s->error.status;
}

Status trainlet_session_property_set_string(TrainletSession *s, const char *name, const char *value) {
  error_clear(&s->error);
  TRY(property_check(name, value, &s->error));
  const char *copy = arena_copy_text(&s->arena, value);
  Property *p = copy ? property_to_set(s, name, PROPERTY_STRING) : NULL;
  if (p) p->s = copy;
  return p ? STATUS_OK : error_set(&s->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for property '%.100s'", name);
}

void trainlet_session_property_delete(TrainletSession *s, const char *name) {
  Property *p = find_property(s, name);
  if (!p) return;
  memmove(p, p + 1, (size_t)(s->properties + s->property_count - (p + 1)) * sizeof *p);
  s->property_count--;
}
