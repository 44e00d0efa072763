/* A new head, more classes of it, and the features that it is trained on: in place of the old one, fed in place of the
 * inputs, with memory that may end anywhere. */
#include <limits.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

/* src/arena.c's, in builds for tests. */
extern long memory_countdown __attribute__((weak));
extern bool memory_counts_pieces __attribute__((weak));

enum { CLASSES = 5, BATCH = 6, MOST = 1024 };

typedef struct Features {
  int rank;
  int64_t dims[4];
  float data[MOST];
  char name[128];
} Features;

static Status set_head(TrainletArtifacts *a, const char *hidden) {
  static const char *const classes[CLASSES] = {"one", "two", "three", "four", "five"};
  Status status = trainlet_artifacts_set(a, "head.hidden", hidden);
  for (int i = 0; i < CLASSES && status == STATUS_OK; i++)
    status = trainlet_artifacts_set(a, "head.classes", classes[i]);
  return status == STATUS_OK ? trainlet_artifacts_build(a) : status;
}

static TrainletSession *open_session(GoldenRun *run, const char *hidden) {
  if (!golden_run_open(run, "mlp_momentum")) return NULL;
  Status status = set_head(run->artifacts, hidden);
  check(status == STATUS_OK, "%s", trainlet_artifacts_error(run->artifacts)->text);
  return status == STATUS_OK ? golden_session(run, NULL, 0) : NULL;
}

/* Memory does not end in this: golden_feed takes it for a fault. */
static bool feed(const GoldenRun *run, TrainletSession *s, int step) {
  long left = &memory_countdown ? memory_countdown : 0;
  if (left) memory_countdown = 0;
  bool fed = golden_feed(run, s, TRAINLET_TRAIN, step, BATCH);
  if (left) memory_countdown = left;
  return fed;
}

/* The features of the batch of a step. */
static Status compute(const GoldenRun *run, TrainletSession *s, int step, Features *f) {
  if (!trainlet_session_features(s) || !feed(run, s, step)) return trainlet_session_error(s)->status;
  Status status = trainlet_session_run_features(s);
  const TrainletTensor *t = status == STATUS_OK ? trainlet_session_output(s, 0) : NULL;
  if (!t) return status;
  f->rank = t->rank;
  memcpy(f->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
  if (check(t->bytes <= sizeof f->data && strlen(t->name) < sizeof f->name, "too large for this test"))
    memcpy(f->data, t->data, t->bytes), strcpy(f->name, t->name);
  return status;
}

static size_t bytes_of(const Features *f) {
  size_t bytes = sizeof(float);
  for (int i = 0; i < f->rank; i++) bytes *= (size_t)f->dims[i];
  return bytes;
}

/* Feeds labels as golden_feed does, and features in place of the inputs. */
static Status step_on(const GoldenRun *run, TrainletSession *s, int step, const Features *f) {
  if (!feed(run, s, step)) return STATUS_INTERNAL;
  void *to = trainlet_session_feed(s, TRAINLET_TRAIN, f->name, 1, f->rank, f->dims);
  if (!to) return trainlet_session_error(s)->status;
  memcpy(to, f->data, bytes_of(f));
  return trainlet_session_step(s);
}

static void features_stand_for_what_gives_them(const void *argument) {
  const char *hidden = argument;
  GoldenRun run, other;
  TrainletSession *s = open_session(&run, hidden), *plain = open_session(&other, hidden);
  static Features f[3];
  for (int i = 0; s && plain && i < 9; i++) {
    Features *at = &f[i % 3];
    if (i < 3 && !golden_ok(s, compute(&run, s, i, at), "features")) break;
    if (!golden_ok(s, step_on(&run, s, i % 3, at), "a step on features")) break;
    if (!golden_feed(&other, plain, TRAINLET_TRAIN, i % 3, BATCH) ||
        !golden_ok(plain, trainlet_session_step(plain), "a step"))
      break;
    double loss = trainlet_session_loss(s), wanted = trainlet_session_loss(plain);
    check(loss == wanted, "step %d: the loss is %.9g on features, %.9g on inputs", i, loss, wanted);
  }
  trainlet_session_free(s), trainlet_session_free(plain);
  golden_run_close(&run), golden_run_close(&other);
}

static void features_that_do_not_fit_are_refused(const void *argument) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, "0");
  static Features f;
  if (s && golden_ok(s, compute(&run, s, 0, &f), "features")) {
    int64_t wide[] = {BATCH, 1}, many[] = {BATCH + 1, f.dims[1]};
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, f.name, 1, 2, wide), "features of another width are taken");
    float *to = trainlet_session_feed(s, TRAINLET_TRAIN, f.name, 1, 2, many);
    if (check(to != NULL, "%s", trainlet_session_error(s)->text)) {
      memset(to, 0, (size_t)many[0] * (size_t)many[1] * sizeof *to);
      golden_feed(&run, s, TRAINLET_TRAIN, 0, BATCH);
      check(trainlet_session_step(s) == STATUS_INVALID_FEED, "features of more examples than labels are taken");
    }
    golden_ok(s, step_on(&run, s, 0, &f), "a step after these");
    golden_ok(s, trainlet_session_set_trainable(s, "*"), "set_trainable");
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, f.name, 1, f.rank, f.dims), "features of a graph that is gone");
    check(trainlet_session_run_features(s) == STATUS_INVALID_ARGUMENT, "features where everything trains");
    check(golden_feed(&run, s, TRAINLET_TRAIN, 0, BATCH) && trainlet_session_step(s) == STATUS_OK, "%s",
          trainlet_session_error(s)->text);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* A life in which the n-th piece of memory is not there, wherever that is; afterwards it goes on as if nothing had
 * been. Gives how many there were. */
static long live(long n, double *loss) {
  GoldenRun run;
  static Features f;
  bool opened = golden_run_open(&run, "mlp_momentum");
  memory_countdown = n;
  if (opened && set_head(run.artifacts, "8") != STATUS_OK) {
    check(trainlet_artifacts_error(run.artifacts)->status == STATUS_OUT_OF_MEMORY, "n = %ld: %s", n,
          trainlet_artifacts_error(run.artifacts)->text);
    golden_run_close(&run); /* the model may have half a head */
    memory_countdown = 0;
    opened = golden_run_open(&run, "mlp_momentum") && set_head(run.artifacts, "8") == STATUS_OK;
  }
  long left = memory_countdown;
  memory_countdown = 0;
  TrainletSession *s = opened ? golden_session(&run, NULL, 0) : NULL;
  memory_countdown = left;
  if (s && compute(&run, s, 0, &f) != STATUS_OK)
    memory_countdown = 0, golden_ok(s, compute(&run, s, 0, &f), "features");
  if (s && step_on(&run, s, 0, &f) != STATUS_OK) memory_countdown = 0, golden_ok(s, step_on(&run, s, 0, &f), "a step");
  left = memory_countdown;
  memory_countdown = 0;
  *loss = s ? trainlet_session_loss(s) : -1;
  trainlet_session_free(s);
  golden_run_close(&run);
  return n - left;
}

static void memory_may_end_anywhere(const void *argument) {
  double wanted, loss;
  if (!&memory_countdown) return;
  memory_counts_pieces = true;
  long places = live(LONG_MAX, &wanted);
  test_note("%ld places ", places);
  for (long n = 1; n <= places; n += 3) {
    live(n, &loss);
    check(loss == wanted, "n = %ld: the loss is %.9g, not %.9g", n, loss, wanted);
  }
  memory_counts_pieces = false;
}

/* ---- more classes ---- */

enum { MORE = 2, WIDTH = 32 };

static Status extend(TrainletSession *s, int part, float *weights) {
  static const float biases[MORE] = {-1, 1};
  for (int i = 0; i < MORE * WIDTH; i++) weights[i] = (float)i / WIDTH;
  return trainlet_session_extend(s, (TrainletPart)part, "scores", "[\"one\"]", MORE, weights, biases);
}

static float *scores_of(const GoldenRun *run, TrainletSession *s, float *to) {
  if (!golden_feed(run, s, TRAINLET_EVAL, 0, BATCH) ||
      !golden_ok(s, trainlet_session_run(s, TRAINLET_EVAL, "scores"), "scores"))
    return NULL;
  const TrainletTensor *t = trainlet_session_output(s, 0);
  return memcpy(to, t->data, t->bytes);
}

/* Each file of a session with more classes, also where memory ends on the way: then the session is as it was. */
static bool load_extended(TrainletSession *s, TrainletSession *wider, int part) {
  float weights[MORE * WIDTH];
  size_t bytes;
  Status status = STATUS_OUT_OF_MEMORY;
  for (long n = 1; status == STATUS_OUT_OF_MEMORY && &memory_countdown; n++) {
    memory_countdown = n;
    status = extend(s, part, weights);
    memory_countdown = 0;
  }
  if (!golden_ok(s, extend(s, part, weights), "extend")) return false;
  const void *file = trainlet_session_result(s, &bytes);
  return golden_ok(wider, trainlet_session_load(wider, (TrainletPart)part, file, bytes), "load");
}

static void a_head_takes_more_classes(const void *argument) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, "0"), *wider = trainlet_session_new();
  static float before[BATCH * CLASSES], after[BATCH * (CLASSES + MORE)];
  memory_counts_pieces = &memory_countdown != NULL;
  bool ok = s && feed(&run, s, 0) && golden_ok(s, trainlet_session_step(s), "a step");
  for (int part = TRAINLET_TRAIN; ok && part <= TRAINLET_CHECKPOINT; part++) ok = load_extended(s, wider, part);
  memory_counts_pieces = false;
  if (ok && golden_ok(wider, trainlet_session_ready(wider), "ready") && scores_of(&run, s, before) &&
      scores_of(&run, wider, after)) {
    for (int i = 0; i < BATCH; i++)
      check(memcmp(&before[i * CLASSES], &after[i * (CLASSES + MORE)], CLASSES * sizeof *before) == 0,
            "row %d: the old classes' scores are others", i);
    check(feed(&run, wider, 1) && trainlet_session_step(wider) == STATUS_OK, "%s", trainlet_session_error(wider)->text);
    check(trainlet_session_steps(wider) == 2, "%d steps", (int)trainlet_session_steps(wider));
    check(feed(&run, s, 1) && trainlet_session_step(s) == STATUS_OK, "%s", trainlet_session_error(s)->text);
    check(!trainlet_session_output_layer(s, "input"), "an input has a layer");
    check(trainlet_session_extend(s, TRAINLET_TRAIN, "scores", "", 0, before, before) == STATUS_INVALID_ARGUMENT,
          "no class more is taken");
    check(trainlet_session_extend(s, TRAINLET_MODEL, "scores", "", 1, before, before) == STATUS_INVALID_ARGUMENT,
          "a part that is not there is written");
  }
  trainlet_session_free(s), trainlet_session_free(wider);
  golden_run_close(&run);
}

int main(void) {
  test_run("features_stand_for_what_gives_them", features_stand_for_what_gives_them, "0");
  test_run("features_below_a_hidden_layer", features_stand_for_what_gives_them, "8");
  TEST(features_that_do_not_fit_are_refused);
  TEST(a_head_takes_more_classes);
  TEST(memory_may_end_anywhere);
  return test_finish();
}
