/* Averages: an exponential moving average of what trains, kept beside it and exchanged with it on demand. */
#include <string.h>

#include "simd.h"
#include "state/state.h"

Status state_begin_averages(State *s, Error *error) {
  size_t bytes = 0;
  for (int i = 0; i < s->count; i++) /* fits: they are in memory once */
    if (s->parameters[i].trainable) bytes += parameter_padded_bytes(&s->parameters[i]);
  if (!block_reserve_zeroed(&s->averages, bytes))
    return error_memory_bytes(error, "an average of what trains needs", bytes);
  s->total_bytes += bytes;
  char *at = s->averages.data;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    if (!p->trainable) continue;
    p->average = (float *)at;
    at += parameter_padded_bytes(p);
  }
  return STATUS_OK;
}

void state_average(State *s, float decay) {
  f32x4 fresh = f32x4_splat(s->averaged ? 1 - decay : 1);
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    const float *x = p->data;
    for (size_t k = 0; p->average && k < parameter_padded_bytes(p) / sizeof *x; k += 4) {
      f32x4 average = f32x4_load(p->average + k);
      f32x4_store(p->average + k, average + fresh * (f32x4_load(x + k) - average));
    }
  }
  s->averaged = true;
}

void state_swap_averages(State *s) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    float *x = p->data;
    for (size_t k = 0; p->average && k < parameter_padded_bytes(p) / sizeof *x; k += 4) {
      f32x4 average = f32x4_load(p->average + k);
      f32x4_store(p->average + k, f32x4_load(x + k));
      f32x4_store(x + k, average);
    }
  }
}

Status state_take_averages(State *s, const Checkpoint *c, Error *error) {
  TRY(state_begin_averages(s, error));
  int left = 0;
  for (int i = 0; i < s->count; i++) left += s->parameters[i].average != NULL;
  for (int i = 0; i < c->average_count; i++, left--) {
    const CheckpointTensor *t = &c->averages[i];
    const Parameter *p = state_find(s, t->name);
    if (!p || !p->average || p->type != t->type || p->bytes != t->bytes)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint's average '%.200s' is none of the parameters that train, or of another size",
                       t->name);
    memcpy(p->average, t->data, t->bytes);
  }
  if (left)
    return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                     "the checkpoint has averages of %d of the parameters that train, not of all", c->average_count);
  s->averaged = true;
  return STATUS_OK;
}
