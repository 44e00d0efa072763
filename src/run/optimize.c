/* Optimize: one step of the optimizer over all that trains. */
#include <math.h>

#include "part.h"
#include "run/session.h"

static const Parameter *non_finite_parameter(const State *s) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    if (p->grad && !isfinite(optimizer_norm_squared(p->grad, p->bytes / sizeof(float)))) return p;
  }
  return NULL;
}

PART(ema, state_average);
PART(clip_value, optimizer_clip_values);
PART(anchor, state_draw);

static void update(State *s, const Optimizer *shared, float lr, float scale) {
  Optimizer o = *shared;
  Stretch x;
  for (int i = 0; (i = state_next_stretch(s, i, &x));) {
    o.weight_decay = x.weight_decay;
    optimizer_update(&o, x.steps + o.first_step, lr * x.lr_scale, scale, x.values, x.gradients, x.moment[0],
                     x.moment[1], x.count);
  }
  state_clamp(s);
  for (int i = 0; i < s->count; i++) s->parameters[i].steps += s->parameters[i].trainable;
  if (s->ema_decay > 0 && s->averages.data && part_ema) part_ema(s, s->ema_decay);
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
  update(s, o, lr, optimizer_clip_scale(o, norm_squared));
  *norm = sqrt(norm_squared);
  return STATUS_OK;
}

Status session_optimize(TrainletSession *s) {
  TRY(state_optimize(&s->state, &s->optimizer, s->lr, &s->gradient_norm, &s->error));
  s->steps++;
  s->outside.changes++;
  return STATUS_OK;
}
