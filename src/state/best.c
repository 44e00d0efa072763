/* The best so far: a copy of what trained when a fit was best, to which it can go back. */
#include <string.h>

#include "state/state.h"

Status state_keep_best(State *s, Error *error) {
  size_t bytes = 0;
  for (int i = 0; i < s->count; i++)
    bytes += parameter_best_bytes(&s->parameters[i]); /* fits: they are in memory once */
  if (!s->best.data) {
    s->total_bytes += bytes;
    if (!block_reserve(&s->best, bytes)) {
      state_no_room(s, error);
      s->total_bytes -= bytes;
      return error->status;
    }
  }
  char *at = s->best.data;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (!parameter_best_bytes(p)) continue;
    p->best = memcpy(at, p->data, p->bytes);
    at += parameter_best_bytes(p);
  }
  return STATUS_OK;
}

void state_restore_best(State *s) {
  for (int i = 0; i < s->count; i++)
    if (s->parameters[i].best) memcpy(s->parameters[i].data, s->parameters[i].best, s->parameters[i].bytes);
}

Status state_take_best(State *s, const Checkpoint *c, Error *error) {
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
