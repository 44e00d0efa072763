/* Anchors: parameters are drawn towards their base, the values that they had when they were anchored (L2-SP: Li,
 * Grandvalet & Davoine, "Explicit inductive bias for transfer learning", 2018):  loss + α/2 · ‖p − p₀‖². */
#include <string.h>

#include "state/state.h"
#include "simd.h"

static size_t sum_bytes(const State *s, const float *strengths) {
  size_t bytes = 0;
  for (int i = 0; i < s->count; i++) /* fits: they are in memory once */
    if (strengths ? strengths[i] > 0 : s->parameters[i].base != NULL)
      bytes += parameter_padded_bytes(&s->parameters[i]);
  return bytes;
}

Status state_anchor(State *s, const float *strengths, Error *error) {
  size_t before = sum_bytes(s, NULL), bytes = sum_bytes(s, strengths);
  Block bases = {0};
  if (bytes && !block_reserve(&bases, bytes))
    return error_memory_bytes(error, "the base of what is anchored needs", bytes);
  char *at = bases.data;
  for (int i = 0; i < s->count; i++) {
    Parameter *p = &s->parameters[i];
    const void *from = p->base ? (const void *)p->base : p->data;
    p->anchor = strengths[i];
    p->base = strengths[i] > 0 ? (float *)at : NULL;
    if (!p->base) continue;
    memcpy(at, from, parameter_padded_bytes(p));
    at += parameter_padded_bytes(p);
  }
  s->total_bytes += bytes - before;
  block_free(&s->bases);
  s->bases = bases;
  return STATUS_OK;
}

/* Non-finite values, such as −∞ in a mask, are not drawn as long as they stay at their base. */
void state_draw(State *s) {
  for (int i = 0; i < s->count; i++) {
    const Parameter *p = &s->parameters[i];
    if (!p->trainable || !p->base) continue;
    const float *x = p->data;
    f32x4 strength = f32x4_splat(p->anchor);
    for (size_t k = 0; k < parameter_padded_bytes(p) / sizeof *x; k += 4) {
      f32x4 now = f32x4_load(x + k), base = f32x4_load(p->base + k), g = f32x4_load(p->grad + k);
      f32x4_store(p->grad + k, f32x4_select(now == base, g, g + strength * (now - base)));
    }
  }
}

static Status take_bases(State *s, const Checkpoint *c, Error *error) {
  int left = 0;
  for (int i = 0; i < s->count; i++) left += s->parameters[i].base != NULL;
  for (int i = 0; i < c->base_count; i++, left--) {
    const CheckpointTensor *t = &c->bases[i];
    const Parameter *p = state_find(s, t->name);
    if (!p || !p->base || p->type != t->type || p->bytes != t->bytes)
      return error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                       "the checkpoint's base '%.200s' is none of the parameters that are anchored, or of another size",
                       t->name);
    memcpy(p->base, t->data, t->bytes);
  }
  return left ? error_set(error, STATUS_CHECKPOINT_MISMATCH, NULL,
                          "the checkpoint has the base of %d of the parameters that are anchored, not of all",
                          c->base_count)
              : STATUS_OK;
}

Status state_take_anchors(State *s, const Checkpoint *c, Arena *arena, Error *error) {
  float *strengths = ARENA_ARRAY(arena, float, s->count);
  if (!strengths) return error_memory(error, "for the anchors");
  for (int i = 0; i < s->count; i++) strengths[i] = s->parameters[i].anchor;
  TRY(state_anchor(s, strengths, error));
  return take_bases(s, c, error);
}
