/* The moving average of a session's parameters, as the public API has it (state/average.c). */
#include "session/session.h"

static Status set_ema(TrainletSession *s, double decay, bool anew) {
  if (!(decay >= 0 && decay < 1))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "an average's decay is a number of at least 0 and below 1, not %g", decay);
  if (anew) state_forget_averages(&s->state);
  if (decay > 0 && !s->state.averages.data) TRY(state_begin_averages(&s->state, &s->error));
  s->state.ema_decay = (float)decay;
  return STATUS_OK;
}

Status trainlet_session_set_ema(TrainletSession *s, double decay, bool anew) {
  session_enter(s);
  return session_leave(s, set_ema(s, decay, anew) == STATUS_OK);
}

Status trainlet_session_swap_ema(TrainletSession *s) {
  session_enter(s);
  if (!s->state.averaged)
    error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
              "there is no average of the parameters: train with fit's ema, which takes one after each step");
  else state_swap_averages(&s->state);
  return session_leave(s, s->state.averaged);
}
