/* Optimize: one step of the optimizer over all that trains. */
#include <math.h>

#include "run/session.h"

static const Parameter *non_finite_parameter(const TrainletSession *s) {
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (p->grad && !isfinite(optimizer_norm_squared(p->grad, p->bytes / sizeof(float)))) return p;
  }
  return NULL;
}

static void update(TrainletSession *s, float scale) {
  Stretch x;
  for (int i = 0; (i = state_next_stretch(&s->state, i, &x));)
    optimizer_update(&s->optimizer, x.steps + s->optimizer.first_step, s->lr, scale, x.values, x.gradients, x.moment[0],
                     x.moment[1], x.count);
  state_clamp(&s->state);
  for (int i = 0; i < s->state.count; i++) s->state.parameters[i].steps += s->state.parameters[i].trainable;
  s->steps++;
  s->outside.changes++;
}

Status session_optimize(TrainletSession *s) {
  State *t = &s->state;
  double norm_squared = optimizer_norm_squared(t->gradients.data, t->gradient_count);
  if (!isfinite(norm_squared)) {
    const Parameter *p = non_finite_parameter(s);
    state_restore_statistics(t, UNDO_RUN);
    return error_set(&s->error, STATUS_NON_FINITE_LOSS, NULL,
                     "the gradient of '%.200s' is not finite; no parameter was changed", p ? p->name : "a parameter");
  }
  update(s, optimizer_clip_scale(&s->optimizer, norm_squared));
  s->gradient_norm = sqrt(norm_squared);
  return STATUS_OK;
}
