/* The session's parameters, learning rate, seed, data position and property bag, as the public API shows them. */
#include <math.h>
#include <string.h>

#include "session/session.h"
#include "train/names.h"

double trainlet_session_lr(const TrainletSession *s) { return s->lr; }
void trainlet_session_set_lr(TrainletSession *s, double lr) { s->lr = (float)lr; }
int64_t trainlet_session_steps(const TrainletSession *s) { return s->steps; }
void trainlet_session_set_seed(TrainletSession *s, uint64_t seed) { s->rng = s->group_rng = (Rng){.seed = seed}; }

int trainlet_session_parameter_count(const TrainletSession *s) { return s->state.count; }

TrainletTensor trainlet_session_parameter(TrainletSession *s, int i) {
  if (i < 0 || i >= s->state.count) return (TrainletTensor){0};
  const Parameter *p = &s->state.parameters[i];
  if (!p->trainable) s->program_cache.packed.stale = true, s->base_known = false; /* the caller may write it */
  return (TrainletTensor){p->name,  p->type, p->shape.rank, p->shape.dim, p->data, shape_elements(&p->shape),
                          p->bytes, -1,      false};
}

bool trainlet_session_parameter_trainable(const TrainletSession *s, int i) {
  return i >= 0 && i < s->state.count && s->state.parameters[i].trainable;
}

/* ---- bounds ---- */

static Status bound(TrainletSession *s, const char *pattern, double least, double most) {
  int found = 0;
  if (!((float)least <= (float)most) || (float)least == INFINITY || (float)most == -INFINITY)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "bounds of '%.200s': [%g, %g] is no range: the least must not be above the most", pattern, least,
                     most);
  for (int i = 0; i < s->state.count; i++) {
    Parameter *p = &s->state.parameters[i];
    if (p->type != DTYPE_FLOAT32 || !name_matches(pattern, p->name)) continue;
    p->least = (float)least;
    p->most = (float)most;
    found++;
  }
  if (found) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "bounds: '%.200s' matches no float32 parameter", pattern);
}

Status trainlet_session_bound(TrainletSession *s, const char *pattern, double least, double most) {
  session_enter(s);
  return session_leave(s, bound(s, pattern, least, most) == STATUS_OK);
}

void trainlet_session_unbound(TrainletSession *s) {
  for (int i = 0; i < s->state.count; i++)
    s->state.parameters[i].least = -INFINITY, s->state.parameters[i].most = INFINITY;
}

/* ---- gradients, and values in a row ---- */

const float *trainlet_session_gradient(TrainletSession *s, int i) {
  session_enter(s);
  const Parameter *p = i >= 0 && i < s->state.count ? &s->state.parameters[i] : NULL;
  if (!p || !p->grad)
    error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "parameter '%.200s' does not train: it has no gradient",
              p ? p->name : "");
  else if (s->reset_gradients) state_zero_gradients(&s->state); /* the next run overwrites them */
  return session_leave(s, p && p->grad) == STATUS_OK ? p->grad : NULL;
}

static bool is_contiguous_part(const Parameter *p, TrainletWhich which) {
  bool changes = p->trainable || (which == TRAINLET_WITH_STATISTICS && p->updated);
  return p->type == DTYPE_FLOAT32 && (changes || which == TRAINLET_ALL);
}

size_t trainlet_session_element_count(const TrainletSession *s, TrainletWhich which) {
  size_t count = 0;
  for (int i = 0; i < s->state.count; i++)
    if (is_contiguous_part(&s->state.parameters[i], which)) count += s->state.parameters[i].bytes / sizeof(float);
  return count;
}

void trainlet_session_copy_out(const TrainletSession *s, TrainletWhich which, float *to) {
  char *at = (char *)to;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!is_contiguous_part(p, which)) continue;
    memcpy(at, p->data, p->bytes);
    at += p->bytes;
  }
}

void trainlet_session_copy_in(TrainletSession *s, TrainletWhich which, const float *from) {
  const char *at = (const char *)from;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!is_contiguous_part(p, which)) continue;
    memcpy(p->data, at, p->bytes);
    at += p->bytes;
    state_trust(&s->state.parameters[i]);
  }
  trainlet_session_changed(s);
  if (which == TRAINLET_ALL) s->lacks_values = s->base_known = false, s->program_cache.packed.stale = true;
}

int64_t trainlet_session_position(const TrainletSession *s, int i) {
  if (i == POSITION_COUNT) return (uint32_t)s->rng.seed;
  return i >= 0 && i < POSITION_COUNT ? s->checkpoint.position[i] : 0;
}
void trainlet_session_set_position(TrainletSession *s, int i, int64_t value) {
  if (i >= 0 && i < POSITION_COUNT) s->checkpoint.position[i] = value;
}

const char *trainlet_session_fit(const TrainletSession *s) { return s->checkpoint.fit ? s->checkpoint.fit : ""; }

static Status set_fit(TrainletSession *s, const char *text) {
  size_t bytes = strlen(text) + 1;
  Block fit = {0};
  if (!block_reserve(&fit, bytes)) return error_memory(&s->error, "for where the fit stands");
  block_free(&s->fit);
  s->fit = fit;
  s->checkpoint.fit = *text ? memcpy(fit.data, text, bytes) : NULL;
  return STATUS_OK;
}

Status trainlet_session_set_fit(TrainletSession *s, const char *text) {
  session_enter(s);
  return session_leave(s, property_check("fit", text, &s->error) == STATUS_OK &&
                              set_fit(s, text) == STATUS_OK); /* its reader wants UTF-8 */
}

Status trainlet_session_best(TrainletSession *s, TrainletBest what) {
  session_enter(s);
  if (!s->ready)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the session is not ready: there are no parameters to keep"),
           session_leave(s, false);
  Status status = what == TRAINLET_BEST_KEEP ? state_keep_best(&s->state, &s->error) : STATUS_OK;
  if (what == TRAINLET_BEST_RESTORE) state_restore_best(&s->state), s->outside.changes++;
  else if (what != TRAINLET_BEST_KEEP) state_forget_best(&s->state);
  return session_leave(s, status == STATUS_OK);
}

/* ---- property bag ---- */

static Property *find_property(const TrainletSession *s, const char *name) {
  for (int i = 0; i < s->property_count; i++)
    if (strcmp(s->properties[i].name, name) == 0) return &s->properties[i];
  return NULL;
}

/* This much of the bag, or half of it, may be texts that have been replaced. */
enum { BAG_WASTE = 1 << 19 };

static bool copy_property(Property *to, const Property *from, Arena *bag) {
  *to = *from;
  to->name = arena_copy_text(bag, from->name);
  if (from->kind == PROPERTY_STRING) to->s = arena_copy_text(bag, from->s);
  return to->name && (from->kind != PROPERTY_STRING || to->s);
}

static size_t property_bytes(const Property *p) {
  return sizeof *p + strlen(p->name) + (p->kind == PROPERTY_STRING ? strlen(p->s) : 0) + 34;
}

/* Moves the bag to a new arena when much of its own is waste. */
static bool tidy(TrainletSession *s) {
  size_t used = 0;
  for (int i = 0; i < s->property_count; i++) used += property_bytes(&s->properties[i]);
  if (s->bag.used_bytes < 2 * used + BAG_WASTE) return true;
  Arena bag = {0};
  Property *copies = ARENA_ARRAY(&bag, Property, s->property_count);
  for (int i = 0; i < s->property_count && copies; i++)
    if (!copy_property(&copies[i], &s->properties[i], &bag)) copies = NULL;
  if (!copies) return arena_free(&bag), false;
  arena_free(&s->bag);
  s->bag = bag;
  s->properties = copies;
  s->property_capacity = s->property_count;
  return true;
}

static Property *append_property(TrainletSession *s) {
  int capacity = s->property_capacity;
  Property *grown = arena_list_grow(&s->bag, s->properties, s->property_count, &capacity, sizeof *s->properties);
  if (!grown) return NULL;
  s->properties = grown;
  s->property_capacity = capacity;
  return &s->properties[s->property_count];
}

/* All or nothing. */
static Status set_property(TrainletSession *s, const Property *wanted) {
  Property copy;
  TRY(property_check(wanted->name, wanted->kind == PROPERTY_STRING ? wanted->s : NULL, &s->error));
  bool copied = tidy(s) && copy_property(&copy, wanted, &s->bag);
  Property *p = find_property(s, wanted->name), *to = !copied || p ? p : append_property(s);
  if (!copied || !to) return ERROR_MEMORY(&s->error, "for property '%.100s'", wanted->name);
  s->property_count += !p;
  *to = copy;
  return STATUS_OK;
}

static Status set(TrainletSession *s, Property wanted) {
  session_enter(s);
  return session_leave(s, set_property(s, &wanted) == STATUS_OK);
}

Status trainlet_session_property_set_int(TrainletSession *s, const char *name, int64_t value) {
  return set(s, (Property){name, PROPERTY_INT, .i = value});
}

Status trainlet_session_property_set_float(TrainletSession *s, const char *name, double value) {
  error_clear(&s->error);
  if (isfinite((float)value)) return set(s, (Property){name, PROPERTY_FLOAT, .f = (float)value});
  TRY(property_check(name, NULL, &s->error));
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                   "property '%.128s' must be a number that a float32 can hold, not %g", name, value);
}

Status trainlet_session_property_set_string(TrainletSession *s, const char *name, const char *value) {
  return set(s, (Property){name, PROPERTY_STRING, .s = value});
}

void trainlet_session_property_delete(TrainletSession *s, const char *name) {
  Property *p = find_property(s, name);
  if (!p) return;
  memmove(p, p + 1, (size_t)(s->properties + s->property_count - (p + 1)) * sizeof *p);
  s->property_count--;
}
