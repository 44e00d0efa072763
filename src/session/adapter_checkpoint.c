/* Over base: a checkpoint of adapters alone is laid over the parameters that it was saved with, and no others. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/crc32.h"
#include "session/adapters.h"
#include "session/session.h"

static uint32_t text_crc(const char *text) { return crc32_of((const uint8_t *)text, strlen(text)); }

static uint32_t tensor_hash(const char *name, const void *data, size_t bytes) {
  uint32_t parts[] = {text_crc(name), crc32_of(data, bytes)};
  return crc32_of((const uint8_t *)parts, sizeof parts);
}

uint32_t session_base(TrainletSession *s) {
  uint32_t sum = 0;
  for (int i = 0; !s->base_known && i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!is_over_base(p)) sum += tensor_hash(p->name, p->data, p->bytes);
  }
  if (!s->base_known) s->base = sum;
  s->base_known = true;
  return s->base;
}

/* ---- two checkpoints as one ---- */

typedef struct Joined {
  TrainletSession *s;
  const CheckpointTensor **over; /* sorted by name */
  int over_count, replaced;
  uint32_t base;
  Checkpoint to;
} Joined;

static Status out_of_memory(TrainletSession *s) { return error_memory(&s->error, "for the checkpoint"); }

static int compare(const void *a, const void *b) {
  return strcmp((*(const CheckpointTensor *const *)a)->name, (*(const CheckpointTensor *const *)b)->name);
}

static const CheckpointTensor *replacing(const Joined *j, const CheckpointTensor *t) {
  const CheckpointTensor **found = j->over_count ? bsearch(&t, j->over, (size_t)j->over_count, sizeof *j->over, compare)
                                                 : NULL;
  return found ? *found : NULL;
}

/* Its own tensor goes on, as frozen, or what takes its place is told from it. */
static Status join(Joined *j, const CheckpointTensor *t, bool trains) {
  const CheckpointTensor *by = replacing(j, t);
  if (by && by->type == t->type && shape_equal(&by->shape, &t->shape)) {
    j->to.start[j->to.start_count++] = *t;
    j->replaced++;
    return STATUS_OK;
  }
  if (by || trains)
    return error_set(&j->s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                     "the adapterState %s '%.200s', which trains with these artifacts",
                     by ? "has another shape of" : "does not have", t->name);
  j->to.frozen[j->to.frozen_count++] = *t;
  j->base += tensor_hash(t->name, t->data, t->bytes);
  return STATUS_OK;
}

static Status begin(Joined *j, Arena *arena, Arena *scratch) {
  const Checkpoint *base = &j->s->checkpoint, *over = &j->s->over;
  int count = base->trainable_count + base->frozen_count;
  j->over_count = over->trainable_count + over->frozen_count;
  j->over = ARENA_ARRAY(scratch, const CheckpointTensor *, j->over_count);
  j->to.frozen = ARENA_ARRAY(arena, CheckpointTensor, count + over->frozen_count);
  j->to.start = ARENA_ARRAY(arena, CheckpointTensor, count);
  if (!j->over || !j->to.frozen || !j->to.start) return out_of_memory(j->s);
  for (int i = 0; i < over->trainable_count; i++) j->over[i] = &over->trainable[i];
  for (int i = 0; i < over->frozen_count; i++) {
    j->over[over->trainable_count + i] = &over->frozen[i];
    j->to.frozen[i] = over->frozen[i];
  }
  qsort(j->over, (size_t)j->over_count, sizeof *j->over, compare);
  return STATUS_OK;
}

static Status join_all(Joined *j, Arena *scratch) {
  TrainletSession *s = j->s;
  const Checkpoint *base = &s->checkpoint, *over = &s->over;
  j->to = *over;
  j->to.start_count = 0;
  TRY(begin(j, &s->arena, scratch));
  for (int i = 0; i < base->trainable_count; i++) TRY(join(j, &base->trainable[i], true));
  for (int i = 0; i < base->frozen_count; i++) TRY(join(j, &base->frozen[i], false));
  if (j->replaced < j->over_count || j->base != over->base)
    return error_set(&s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
                     "the adapterState was saved over another base: its parameters have the hash %08x, those of the "
                     "checkpointState here %08x",
                     (unsigned)over->base, (unsigned)j->base);
  if (base->start_count) j->to.start = base->start, j->to.start_count = base->start_count;
  j->to.alone = false;
  s->checkpoint = j->to;
  s->base = j->base;
  s->base_known = true;
  return STATUS_OK;
}

Status session_lay_over(TrainletSession *s) {
  if (!s->has_checkpoint || s->checkpoint.nominal)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "an adapterState needs the checkpointState of its artifacts, which has the base");
  Joined j = {.s = s};
  Arena scratch = {.temporary = true};
  Status status = join_all(&j, &scratch);
  arena_free(&scratch);
  return status;
}
