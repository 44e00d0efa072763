/* Ort set: a set of ONNX Runtime's artifacts in tests/golden/data/ort, as files, a session and its batch. */
#pragma once
#include "json.h"
#include "trainlet.h"

typedef struct OrtSet {
  Arena arena;
  const char *name;
  Json *golden;
} OrtSet;

/* Reads the set's golden.json; checks fail and false comes back when that does not work. */
bool ort_set_open(OrtSet *set, const char *name);
void ort_set_close(OrtSet *set);
/* A file of the set; a failed check and NULL when it is not there. */
const void *ort_set_file(OrtSet *set, const char *file, size_t *bytes);
/* Loads the four parts; `checkpoint` replaces the set's own unless NULL. NULL when the session does not come up. */
TrainletSession *ort_set_session(OrtSet *set, const void *checkpoint, size_t bytes);
/* The part's run on the set's batch; gives its first output, NAN when it fails. */
double ort_set_run(OrtSet *set, TrainletSession *s, TrainletPart part);
/* Train, optimize, reset; gives the loss. */
double ort_set_step(OrtSet *set, TrainletSession *s);
