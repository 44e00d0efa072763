/* Adapters: several sets of the parameters that LoRA trains, over one base. One is in use, in the state; the others are
 * kept beside it.
 *
 *   state:  │ base │ A, B, moments of `used` │        use another ─▶ copied out, the other copied in
 *   Adapter │ values │ moment 0 │ moment 1 │ counters │ name │   one a block; `start` has values alone
 */
#pragma once
#include "state/state.h"

typedef struct TrainletSession TrainletSession;

typedef struct Adapter {
  struct Adapter *next;
  Block block; /* in which all of it lies */
  const char *name;
  float *values;             /* values of the adapted parameters, in their order; those of `used` are in the state */
  struct Counters *counters; /* one for each parameter of the session */
} Adapter;

typedef struct Adapters {
  Adapter *first, *used; /* in the order in which they were added; NULL: the base alone is in use, and does not train */
  Adapter *start; /* values of the beginning, whose branches add nothing: the base alone, and adapters added later */
  Adapter *lender, *rest; /* whose place a lent one has, NULL: none is lent; `rest` holds the values of none of them */
  size_t bytes;           /* bytes of all values of one */
} Adapters;

/* For a session with adapters, once the state has the checkpoint's values: takes the adapters of the checkpoint, or
 * makes one called `default`. */
Status session_begin_adapters(TrainletSession *s);
/* For a checkpoint: the adapters that are not in use, and the name of the one in use. */
Status session_gather_adapters(TrainletSession *s, bool moments, Arena *arena, Checkpoint *c);
void adapters_free(Adapters *a);

/* ---- checkpoints of adapters alone (session/adapter_checkpoint.c) ---- */

/* A checkpoint of adapters alone over the session's: what it brings takes the place of parameters, all else is its own.
 * Refused over another base than it was saved with. */
Status session_lay_over(TrainletSession *s);
/* True if a checkpoint of adapters alone has the parameter. */
static inline bool is_over_base(const Parameter *p) { return p->adapted || p->trainable || p->updated; }
/* A checksum of all parameters that such a checkpoint lacks: over names and numbers, in any order. */
uint32_t session_base(TrainletSession *s);
