/* Fuzz: what the targets share: the entry that libFuzzer calls, promises that are held, and feeds of any batch and
 * values. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Ends the process, telling the promise, when it is broken. */
#define hold(promise) ((promise) ? (void)0 : hold_failed(#promise, __FILE__, __LINE__))
void hold_failed(const char *promise, const char *file, int line);
/* A bad status has a sentence, and the fault is never the engine's own. */
void hold_sentence(const Error *error);

typedef enum FeedValues {
  FEED_ONES, /* positions and classes as well; floats of a tiny value */
  FEED_TAME, /* small numbers of both signs */
  FEED_WILD, /* any bits: NaN, infinities, the ends of integers */
} FeedValues;

typedef struct FuzzFeed {
  int batch; /* bound to every symbol */
  int items; /* a sequence's length; 0: an optional is without an element */
  FeedValues values;
  uint32_t seed;
} FuzzFeed;

/* Feeds every input of a model; false when one was refused (with a sentence), or is too large for fuzzing. */
bool fuzz_feed(TrainletSession *s, TrainletPart part, const FuzzFeed *how);

/* A step in two halves, three of them open at once. */
void fuzz_outside(TrainletSession *s, const FuzzFeed *how);

/* Loads what was written. */
void hold_loads(TrainletPart part, const void *bytes, size_t count);
/* Saves: refused where training made values infinite, else what is written can be loaded. */
void fuzz_save(TrainletSession *s, TrainletFormat format);

enum { FUZZ_ENVELOPE = 32 };
/* The body as a whole checkpoint, in room for it and FUZZ_ENVELOPE bytes more; how many there are. */
size_t fuzz_envelope(const uint8_t *body, size_t count, uint8_t *out);

/* Bytes of a structured target's case; zeros past the end. */
typedef struct Input {
  const uint8_t *at, *end;
} Input;

uint8_t input_byte(Input *in);
int input_below(Input *in, int count);
enum { INPUT_TEXT = 1 << 16 };
/* A name of any kind: a few bytes as they come, one of those that go wrong elsewhere, or a long one. Of `to`
 * (INPUT_TEXT bytes). */
const char *input_text(Input *in, char *to);
