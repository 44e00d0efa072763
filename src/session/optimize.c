/* Optimize: one step of the optimizer over all that trains. */
#include <math.h>
#include <string.h>

#include "part.h"
#include "session/session.h"

static const Parameter *non_finite_parameter(const State *s) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    if (p->grad && !isfinite(optimizer_norm_squared(p->grad, p->bytes / sizeof(float)))) return p;
  }
  return NULL;
}

OPTIONAL(ema, state_average);
OPTIONAL(clip_value, optimizer_clip_values);
OPTIONAL(anchor, state_draw);

static void update(State *s, const Optimizer *shared, float lr, float scale) {
  Optimizer o = *shared;
  StateRange x;
  for (int i = 0; (i = state_next_range(s, i, &x));) {
    o.weight_decay = x.weight_decay;
    optimizer_update(&o, x.steps + o.first_step, lr * x.lr_scale, scale, x.values, x.gradients, x.moment[0],
                     x.moment[1], x.count);
  }
  state_clamp(s);
}

/* ---- a step that may leave float32's range is taken on trial ---- */

/* Within these, no 256 steps come near float32's largest number, 3.4e38. */
static const float SAFE_VALUE = 1e30f, SAFE_RATE = 1e6f, SAFE_DECAY = 0.1f;
static const double SAFE_NORM_SQUARED = 1e30;
enum { SAFE_STEPS = 256 };

static bool all_within(const float *x, size_t count, float most) {
  bool within = true;
  for (size_t i = 0; x && i < count; i++) within = within & (fabsf(x[i]) <= most);
  return within;
}

static bool is_safe(State *s, const Optimizer *o, float lr, double norm_squared) {
  StateRange x;
  bool safe = norm_squared <= SAFE_NORM_SQUARED && (o->eps > 0 || !optimizer_has(o->kind, SETTING_EPS));
  bool looks = s->safe_steps == 0;
  for (int i = 0; safe && (i = state_next_range(s, i, &x));) {
    float rate = fabsf(lr * x.lr_scale);
    safe = rate <= SAFE_RATE && rate * x.weight_decay <= SAFE_DECAY;
    if (!looks) continue;
    safe = safe && all_within(x.values, x.count, SAFE_VALUE) && all_within(x.moment[0], x.count, SAFE_VALUE) &&
           all_within(x.moment[1], x.count, SAFE_VALUE);
  }
  s->safe_steps = !safe ? 0 : looks ? SAFE_STEPS : s->safe_steps - 1;
  return safe;
}

/* Copies values and moments of what trains to `copy`, or back; NULL: counts their bytes alone. */
static size_t copy_trained(const State *s, char *copy, bool back) {
  size_t at = 0;
  StateRange x;
  for (int i = 0; (i = state_next_range(s, i, &x));) {
    float *const parts[] = {x.values, x.moment[0], x.moment[1]};
    for (int k = 0; k < 3; k++) {
      size_t bytes = parts[k] ? x.count * sizeof(float) : 0;
      if (copy && bytes) memcpy(back ? (char *)parts[k] : copy + at, back ? copy + at : (char *)parts[k], bytes);
      at += bytes;
    }
  }
  return at;
}

static Status update_on_trial(State *s, const Optimizer *o, float lr, float scale, Error *error) {
  Block copy = {0};
  if (!block_reserve(&copy, copy_trained(s, NULL, false)))
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "no room to copy what trains");
  copy_trained(s, copy.data, false);
  update(s, o, lr, scale);
  Status status = state_check_finite(s, "the step is undone", error);
  if (status != STATUS_OK) copy_trained(s, copy.data, true);
  block_free(&copy);
  return status;
}

Status state_optimize(State *s, const Optimizer *o, float lr, double *norm, Error *error) {
  if (s->bases.data && part_anchor) part_anchor(s);
  double norm_squared = optimizer_norm_squared(s->gradients.data, s->gradient_count);
  if (!isfinite(norm_squared)) {
    const Parameter *p = non_finite_parameter(s);
    state_restore_statistics(s, UNDO_RUN);
    return error_set(error, STATUS_NON_FINITE_LOSS, NULL,
                     "the gradient of '%.200s' is not finite; no parameter was changed", p ? p->name : "a parameter");
  }
  if (o->clip_value > 0 && !part_clip_value) return part_missing(error, "clipping by value");
  if (o->clip_value > 0) part_clip_value(s->gradients.data, s->gradient_count, o->clip_value);
  float scale = optimizer_clip_scale(o, norm_squared);
  if (is_safe(s, o, lr, norm_squared)) update(s, o, lr, scale);
  else if (update_on_trial(s, o, lr, scale, error) != STATUS_OK)
    return state_restore_statistics(s, UNDO_RUN), error->status;
  for (int i = 0; i < s->count; i++) s->parameters[i].steps += s->parameters[i].trainable;
  if (s->ema_decay > 0 && s->averages.data && part_ema) part_ema(s, s->ema_decay);
  *norm = sqrt(norm_squared);
  return STATUS_OK;
}

Status session_optimize(TrainletSession *s) {
  TRY(state_optimize(&s->state, &s->optimizer, s->lr, &s->gradient_norm, &s->error));
  s->steps++;
  s->outside.changes++;
  return STATUS_OK;
}
