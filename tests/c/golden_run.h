/* Golden run: a network of tests/golden with its recipe, as artifacts and sessions through the public C API. */
#pragma once
#include "json.h"
#include "trainlet.h"

enum { GOLDEN_STEPS = 10 };

typedef struct GoldenRun {
  Arena arena;
  Json *recipe;
  TrainletArtifacts *artifacts;
} GoldenRun;

/* Reads tests/golden/data/NAME.json and builds its artifacts; checks fail and false comes back when that does not work.
 * */
bool golden_run_open(GoldenRun *run, const char *name);
/* The same with these passes (names joined by commas) alone, which a session has to be told besides. */
bool golden_run_open_with(GoldenRun *run, const char *name, const char *passes);
void golden_run_close(GoldenRun *run);

/* A session on the artifacts; checkpoint replaces theirs unless NULL. NULL when it does not come up. */
TrainletSession *golden_session(const GoldenRun *run, const void *checkpoint, size_t bytes);
/* Feeds the batch of `step` (with `batch` examples, 0 = the recipe's) to a part of the session. */
bool golden_feed(const GoldenRun *run, TrainletSession *s, TrainletPart part, int step, int batch);
/* The same of step 0 for a model without labels. */
bool golden_feed_input(const GoldenRun *run, TrainletSession *s, TrainletPart part);
/* One micro-step as the recipe says; gives its loss. */
double golden_step(const GoldenRun *run, TrainletSession *s, int step);
/* True if ok; otherwise a failed check with the session's sentence. */
bool golden_ok(TrainletSession *s, Status status, const char *what);
/* Checks ten losses of a run to be the literals of tests/golden/data/engine-losses.json, to the bit. */
void golden_check_losses(const char *name, const double *losses);
