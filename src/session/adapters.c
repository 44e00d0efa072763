/* Adapters: adds sets of the parameters that LoRA trains, swaps them in the state, saves and loads them. */
#include "session/adapters.h"

#include <math.h>
#include <string.h>

#include "session/session.h"
#include "model/lora.h"

#define DEFAULT_ADAPTER "default" /* PEFT's name of the first */

/* A parameter's counters: updates so far, and values and moments that were not finite. */
typedef struct Counters {
  int64_t steps;
  size_t non_finite[3];
} Counters;

static size_t padded_bytes(const Parameter *p) { return (p->bytes + 15) & ~(size_t)15; }

static Status out_of_memory(TrainletSession *s) { return error_memory(&s->error, "for another adapter"); }

static Adapter *find(const Adapters *a, const char *name) {
  Adapter *it = a->first;
  while (it && strcmp(it->name, name) != 0) it = it->next;
  return it;
}

/* Zeros. */
static Adapter *make(TrainletSession *s, const char *name, int parts) {
  size_t values = s->adapters.bytes * (size_t)parts, counters = (size_t)s->state.count * sizeof(Counters);
  size_t text = strlen(name) + 1, head = (sizeof(Adapter) + 15) & ~(size_t)15;
  Block block = {0};
  if (!block_reserve_zeroed(&block, head + values + counters + text)) return out_of_memory(s), NULL;
  char *at = block.data;
  Adapter *a = (Adapter *)(void *)at;
  a->block = block;
  a->values = (float *)(void *)(at += head);
  a->counters = (Counters *)(void *)(at += values);
  a->name = memcpy(at + counters, name, text);
  s->state.total_bytes += block.capacity;
  return a;
}

/* The numbers of parameter p, which come `at` floats behind the first, as they wait: values, then moments. */
static float *kept_part(const TrainletSession *s, const Adapter *a, size_t at, int part) {
  return a->values + at + (size_t)part * s->adapters.bytes / sizeof(float);
}

typedef enum Direction { OUT, IN } Direction;

/* Between the state and where an adapter waits; of what has no name its values alone. */
static void copy(TrainletSession *s, Adapter *a, Direction direction) {
  size_t at = 0;
  for (int i = 0; i < s->state.count; i++) {
    Parameter *p = &s->state.parameters[i];
    if (!p->adapted) continue;
    void *parts[] = {p->data, p->moment[0], p->moment[1]};
    for (int k = 0; k < (*a->name ? 3 : 1); k++) {
      float *kept = kept_part(s, a, at, k);
      if (parts[k]) memcpy(direction == OUT ? kept : parts[k], direction == OUT ? parts[k] : kept, p->bytes);
    }
    Counters *counters = &a->counters[i];
    if (direction == OUT) counters->steps = p->steps, memcpy(counters->non_finite, p->non_finite, sizeof p->non_finite);
    else p->steps = counters->steps, memcpy(p->non_finite, counters->non_finite, sizeof p->non_finite);
    if (direction == IN && !p->trainable) s->program_cache.packed.stale = true;
    at += padded_bytes(p) / sizeof(float);
  }
}

static void append(Adapters *all, Adapter *a) {
  Adapter **end = &all->first;
  while (*end) end = &(*end)->next;
  *end = a;
}

static Adapter *add(TrainletSession *s, const char *name) {
  const Adapter *start = s->adapters.start;
  Adapter *a = make(s, name, 1 + s->state.moment_count);
  if (!a) return NULL;
  memcpy(a->values, start->values, s->adapters.bytes);
  for (int i = 0; i < s->state.count; i++) a->counters[i].non_finite[0] = start->counters[i].non_finite[0];
  append(&s->adapters, a);
  return a;
}

/* ---- at the beginning ---- */

static void mark(State *s, const CheckpointTensor *tensors, int count) {
  for (int i = 0; i < count; i++) {
    Parameter *p = state_find(s, tensors[i].name);
    if (p) p->adapted = p->type == DTYPE_FLOAT32;
  }
}

/* Marks the parameters that train or are matrices of an adapter, or that trained when the checkpoint was saved. */
static void mark_adapted(TrainletSession *s) {
  State *st = &s->state;
  const Checkpoint *c = &s->checkpoint;
  mark(st, c->start, c->start_count);
  for (int i = 0; i < c->adapter_count; i++) mark(st, c->adapters[i].tensors, c->adapters[i].count);
  for (int i = 0; i < st->count; i++) {
    Parameter *p = &st->parameters[i];
    p->adapted |= p->type == DTYPE_FLOAT32 && (p->trainable || p->updated || lora_is_matrix(p->name));
    if (p->adapted) s->adapters.bytes += padded_bytes(p); /* fits: they are in memory once */
  }
}

static Status mismatch(TrainletSession *s, const char *name, const char *adapter) {
  return error_set(
      &s->error, STATUS_CHECKPOINT_MISMATCH, NULL,
      "the checkpoint's '%.200s' of adapter '%.100s' is none of the parameters that adapters have here, or "
      "of another size",
      name, adapter);
}

/* The place where the adapter keeps the tensor; NULL with a sentence if it is not one of an adapter's. */
static float *place_of(TrainletSession *s, const Adapter *a, const CheckpointTensor *t, const char *name, int part,
                       Counters **counters) {
  size_t at = 0;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!p->adapted) continue;
    if (strcmp(p->name, name) == 0 && p->type == t->type && p->bytes == t->bytes) {
      *counters = &a->counters[i];
      return kept_part(s, a, at, part);
    }
    at += padded_bytes(p) / sizeof(float);
  }
  return mismatch(s, name, a->name), NULL;
}

static Status take_tensors(TrainletSession *s, Adapter *a, const CheckpointTensor *tensors, int count) {
  Counters *counters;
  for (int i = 0; i < count; i++) {
    float *to = place_of(s, a, &tensors[i], tensors[i].name, 0, &counters);
    if (!to) return s->error.status;
    memcpy(to, tensors[i].data, tensors[i].bytes);
  }
  return STATUS_OK;
}

static Status take_moments(TrainletSession *s, Adapter *a, const CheckpointMoments *m) {
  Counters *counters;
  if (m->count != s->state.moment_count) return mismatch(s, m->parameter, a->name);
  for (int k = 0; k < m->count; k++) {
    float *to = place_of(s, a, &m->moment[k], m->parameter, 1 + k, &counters);
    if (!to) return s->error.status;
    memcpy(to, m->moment[k].data, m->moment[k].bytes);
    counters->steps = m->steps;
  }
  return STATUS_OK;
}

static Status take_adapters(TrainletSession *s) {
  const Checkpoint *c = &s->checkpoint;
  Adapters *all = &s->adapters;
  for (int i = 0; i < c->adapter_count; i++) {
    const CheckpointAdapter *from = &c->adapters[i];
    Adapter *a = add(s, from->name);
    if (!a) return s->error.status;
    TRY(take_tensors(s, a, from->tensors, from->count));
    for (int k = 0; k < from->moment_count && s->state.moment_count; k++) TRY(take_moments(s, a, &from->moments[k]));
  }
  const char *used = c->adapter ? c->adapter : DEFAULT_ADAPTER;
  all->used = *used ? find(all, used) : NULL;
  if (*used && !all->used && !(all->used = add(s, used))) return s->error.status;
  return STATUS_OK;
}

static bool has_adapters(const TrainletSession *s) {
  for (int m = 0; m < MODEL_COUNT; m++)
    if (s->models[m].graph && graph_metadata(s->models[m].graph, LORA_KEY)) return true;
  return false;
}

Status session_begin_adapters(TrainletSession *s) {
  if (!has_adapters(s)) return STATUS_OK;
  mark_adapted(s);
  Adapter *start = s->adapters.start = make(s, "", 1);
  if (!start) return s->error.status;
  copy(s, start, OUT);
  TRY(take_tensors(s, start, s->checkpoint.start, s->checkpoint.start_count));
  size_t at = 0;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!p->adapted) continue;
    if (lora_is_zero_at_first(p->name)) memset(start->values + at, 0, p->bytes);
    at += padded_bytes(p) / sizeof(float);
  }
  return take_adapters(s);
}

static void free_one(const Adapter *a) {
  Block block = a ? a->block : (Block){0}; /* a itself lies in it */
  block_free(&block);
}

void adapters_free(Adapters *all) {
  for (Adapter *a = all->first, *next; a; a = next) next = a->next, free_one(a);
  free_one(all->start);
  free_one(all->rest);
}

/* ---- for a checkpoint ---- */

static CheckpointTensor stored_tensor(const TrainletSession *s, const Parameter *p, const Adapter *a, size_t at,
                                      int part) {
  static const char *const names[] = {NULL, "momentum0", "momentum1"};
  return (CheckpointTensor){part ? names[part] : p->name, p->type, p->shape, kept_part(s, a, at, part), p->bytes};
}

static Status gather(TrainletSession *s, const Adapter *a, bool moments, Arena *arena, CheckpointAdapter *out) {
  out->tensors = ARENA_ARRAY(arena, CheckpointTensor, s->state.count);
  out->moments = ARENA_ARRAY(arena, CheckpointMoments, s->state.count);
  if (arena->failed) return out_of_memory(s);
  size_t at = 0;
  for (int i = 0; i < s->state.count; i++) {
    const Parameter *p = &s->state.parameters[i];
    if (!p->adapted) continue;
    out->tensors[out->count++] = stored_tensor(s, p, a, at, 0);
    CheckpointMoments m = {.parameter = p->name, .count = s->state.moment_count, .steps = a->counters[i].steps};
    for (int k = 0; k < m.count; k++) m.moment[k] = stored_tensor(s, p, a, at, 1 + k);
    if (moments) out->moments[out->moment_count++] = m;
    at += padded_bytes(p) / sizeof(float);
  }
  return STATUS_OK;
}

Status session_gather_adapters(TrainletSession *s, bool moments, Arena *arena, Checkpoint *c) {
  const Adapters *all = &s->adapters;
  int count = 0;
  for (const Adapter *a = all->first; a; a = a->next) count++;
  if (all->used && count == 1 && strcmp(all->used->name, DEFAULT_ADAPTER) == 0) return STATUS_OK;
  c->adapter = all->used ? all->used->name : "";
  CheckpointAdapter start = {0};
  if (!(c->adapters = ARENA_ARRAY(arena, CheckpointAdapter, count))) return out_of_memory(s);
  TRY(gather(s, all->start, false, arena, &start));
  c->start = start.tensors;
  c->start_count = start.count;
  for (const Adapter *a = all->first; a; a = a->next) {
    CheckpointAdapter *out = &c->adapters[c->adapter_count++];
    out->name = a->name;
    if (a != all->used) TRY(gather(s, a, moments && s->state.moment_count, arena, out));
  }
  return STATUS_OK;
}

/* ---- as the public API has it ---- */

static const char *list(const Adapters *all, Arena *arena) {
  TextBuilder p = text_new(arena);
  for (const Adapter *a = all->first; a; a = a->next)
    text_put(&p, a == all->first ? "'" : ", '"), text_put(&p, a->name), text_put(&p, "'");
  return p.text ? p.text : "";
}

static Adapter *find_or_tell(TrainletSession *s, const char *name) {
  Adapter *a = find(&s->adapters, name);
  Arena arena = {0};
  if (!a)
    error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "there is no adapter '%.100s'; there are %.300s", name,
              list(&s->adapters, &arena));
  arena_free(&arena);
  return a;
}

static Status check(TrainletSession *s) {
  if (s->adapters.start) return STATUS_OK;
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                   "the session has no adapter: make its artifacts with the option lora");
}

static Status add_new(TrainletSession *s, const char *name) {
  TRY(property_check(name, NULL, &s->error));
  if (find(&s->adapters, name))
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "there is an adapter '%.100s' already", name);
  return add(s, name) ? STATUS_OK : s->error.status;
}

/* Forgets the gradients for the next step, the best copy and the average, which belong to the adapter in use before. */
static void forget_training(TrainletSession *s) {
  trainlet_session_drop_grad(s);
  state_forget_best(&s->state);
  state_forget_averages(&s->state);
  memset(s->checkpoint.position, 0, sizeof s->checkpoint.position);
  trainlet_session_changed(s);
}

static void put(TrainletSession *s, Adapter *a, Adapter *from) {
  s->adapters.used = a;
  copy(s, from, IN);
}

static Status use(TrainletSession *s, const char *name) {
  Adapters *all = &s->adapters;
  Adapter *a = name ? find_or_tell(s, name) : NULL;
  if (name && !a) return s->error.status;
  forget_training(s);
  if (all->used) copy(s, all->used, OUT);
  put(s, a, a ? a : all->start);
  return STATUS_OK;
}

/* Puts another adapter in the place of the one in use. Values that no adapter has, the base's or those of a sum, are
 * kept in `rest`. */
static Status lend(TrainletSession *s, const char *name) {
  Adapters *all = &s->adapters;
  Adapter *a = name ? find_or_tell(s, name) : NULL;
  if (name && !a) return s->error.status;
  if (!all->used && !all->rest && !(all->rest = make(s, "", 1))) return s->error.status;
  all->lender = all->used ? all->used : all->rest;
  copy(s, all->lender, OUT);
  put(s, a, a ? a : all->start);
  return STATUS_OK;
}

static Status give_back(TrainletSession *s) {
  Adapters *all = &s->adapters;
  Adapter *lender = all->lender;
  if (!lender) return STATUS_OK;
  if (all->used) copy(s, all->used, OUT);
  put(s, lender == all->rest ? NULL : lender, lender);
  all->lender = NULL;
  return STATUS_OK;
}

static Status forget(TrainletSession *s, const char *name) {
  Adapter *a = find_or_tell(s, name);
  if (!a) return s->error.status;
  if (a == s->adapters.used || a == s->adapters.lender)
    return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the adapter '%.100s' is in use: use another, or none, before it is deleted", name);
  Adapter **link = &s->adapters.first;
  while (*link != a) link = &(*link)->next;
  *link = a->next;
  s->state.total_bytes -= a->block.capacity;
  free_one(a);
  return STATUS_OK;
}

static Status change(TrainletSession *s, TrainletAdapter what, const char *name) {
  TRY(check(s));
  switch (what) {
    case TRAINLET_ADAPTER_ADD: return add_new(s, name ? name : "");
    case TRAINLET_ADAPTER_DELETE: return forget(s, name ? name : "");
    case TRAINLET_ADAPTER_USE: return use(s, name);
    case TRAINLET_ADAPTER_LEND: return lend(s, name);
    case TRAINLET_ADAPTER_RETURN: return give_back(s);
  }
  return error_set(&s->error, STATUS_INVALID_ARGUMENT, NULL, "nothing of number %d is done with adapters", (int)what);
}

Status trainlet_session_adapter(TrainletSession *s, TrainletAdapter what, const char *name) {
  session_enter(s);
  return session_leave(s, change(s, what, name) == STATUS_OK);
}
