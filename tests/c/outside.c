/* Gradients from outside: forward runs that wait, in any number and order, and what is refused. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

/* src/arena.c's, in builds for tests. */
extern long memory_countdown __attribute__((weak));
extern bool memory_counts_pieces __attribute__((weak));
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

enum { FEATURES = 20, CLASSES = 5, BATCH = 6, PARAMETERS = 4096 };

static TrainletSession *open_session(GoldenRun *run, const char *frozen) {
  if (!golden_run_open(run, "mlp_momentum")) return NULL;
  Status status = trainlet_artifacts_set(run->artifacts, "loss.type", "outside");
  if (status == STATUS_OK && frozen) status = trainlet_artifacts_set(run->artifacts, "frozen", frozen);
  if (status == STATUS_OK) status = trainlet_artifacts_build(run->artifacts);
  check(status == STATUS_OK, "%s", trainlet_artifacts_error(run->artifacts)->text);
  return status == STATUS_OK ? golden_session(run, NULL, 0) : NULL;
}

/* A forward run of n rows; its id, 0 where it failed. */
static int forward(TrainletSession *s, int n, int seed) {
  int id = 0;
  float *x = trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){n, FEATURES});
  for (int i = 0; x && i < n * FEATURES; i++) x[i] = sinf((float)(i * (seed + 1)));
  golden_ok(s, x ? trainlet_session_forward(s, &id) : STATUS_INTERNAL, "forward");
  return id;
}

/* The gradient of Σ y² / 2 of what the outputs were for `n` rows, roughly: any will do. */
static bool give_gradient(TrainletSession *s, int id, int n) {
  float *dy = trainlet_session_feed_gradient(s, id, "logits", 1, 2, (int64_t[]){n, CLASSES});
  for (int i = 0; dy && i < n * CLASSES; i++) dy[i] = cosf((float)(i + n)) / (float)n;
  return check(dy != NULL, "%s", trainlet_session_error(s)->text);
}

static bool backward(TrainletSession *s, int id, int n, const char *inputs) {
  return give_gradient(s, id, n) && golden_ok(s, trainlet_session_backward(s, id, inputs), "backward");
}

/* Two batches, whose runs are open one after the other or both at once. */
static void parameters_after(bool at_once, bool newest_first, float *to) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, NULL);
  for (int step = 0; s && step < 3; step++) {
    int a = forward(s, 6, step);
    if (!at_once) backward(s, a, 6, NULL);
    int b = forward(s, 9, step + 10);
    if (newest_first || !at_once) backward(s, b, 9, NULL);
    if (at_once) backward(s, a, 6, NULL);
    if (at_once && !newest_first) backward(s, b, 9, NULL);
    golden_ok(s, trainlet_session_optimize(s), "optimize");
    trainlet_session_reset_grad(s);
  }
  if (s && check(trainlet_session_element_count(s, true) <= PARAMETERS, "too many parameters for this test"))
    trainlet_session_copy_out(s, true, to);
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void the_order_of_backward_runs_is_free(const void *argument) {
  static float one[PARAMETERS], both[PARAMETERS], newest[PARAMETERS];
  parameters_after(false, false, one);
  parameters_after(true, false, both);
  parameters_after(true, true, newest);
  check(one[0] != 0 && memcmp(one, both, sizeof one) == 0, "two runs open at once train otherwise");
  check(memcmp(one, newest, sizeof one) == 0, "the newer run's backward first trains otherwise");
}

static void runs_may_be_left_open(const void *argument) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, NULL);
  for (int i = 0; s && i < 12; i++) { /* more shapes than programs are kept */
    int id = forward(s, 1 + i, i);
    if (i % 3 == 0) trainlet_session_drop_forward(s, id);
    if (i % 3 == 1) backward(s, id, 1 + i, "input");
  }
  if (s) {
    trainlet_session_drop_forward(s, 1000);
    golden_ok(s, trainlet_session_optimize(s), "optimize");
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void refused(TrainletSession *s, Status status, Status wanted, const char *words) {
  check(status == wanted && strstr(trainlet_session_error(s)->text, words), "status %d: '%s'", (int)status,
        trainlet_session_error(s)->text);
}

static void runs_do_not_add_up(const void *argument) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, "fc2*");
  size_t held = 0;
  if (s) trainlet_session_set_lr(s, 1e-6);
  for (int i = 0; s && __sanitizer_get_current_allocated_bytes && i < 2000; i++) {
    int n = 1 + i % 12, id = forward(s, n, i), other = forward(s, n, i + 1);
    backward(s, id, n, i % 2 ? "input" : NULL);
    if (i % 3 == 0) trainlet_session_drop_forward(s, other);
    golden_ok(s, trainlet_session_optimize(s), "optimize");
    trainlet_session_reset_grad(s);
    if (i % 3 == 1) refused(s, trainlet_session_backward(s, other, NULL), STATUS_INVALID_ARGUMENT, "inplace");
    if (i % 12 == 11)
      golden_ok(s, trainlet_session_set_trainable(s, i % 24 == 11 ? "fc1*" : "*.weight"), "set_trainable");
    if (i == 239) held = __sanitizer_get_current_allocated_bytes();
    if (i % 240 == 239)
      check(__sanitizer_get_current_allocated_bytes() <= held, "%zu bytes are held after %d runs, %zu before",
            __sanitizer_get_current_allocated_bytes(), i, held);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void what_cannot_be_is_refused(const void *argument) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, NULL);
  int id = s ? forward(s, 4, 1) : 0;
  if (id) {
    check(!trainlet_session_feed_gradient(s, id, "nowhere", 1, 2, (int64_t[]){4, CLASSES}),
          "an output that is not there");
    refused(s, trainlet_session_error(s)->status, STATUS_INVALID_FEED, "'nowhere'");
    check(!trainlet_session_feed_gradient(s, id, "logits", 1, 2, (int64_t[]){5, CLASSES}),
          "a shape that is not its own");
    refused(s, trainlet_session_error(s)->status, STATUS_INVALID_FEED, "float32 (4, 5)");
    refused(s, trainlet_session_backward(s, id, NULL), STATUS_INVALID_FEED, "one of the model's outputs at least");
    give_gradient(s, id, 4);
    refused(s, trainlet_session_backward(s, id, "nowhere"), STATUS_INVALID_FEED, "'nowhere'");
    golden_ok(s, trainlet_session_backward(s, id, NULL), "backward");
    refused(s, trainlet_session_backward(s, id, NULL), STATUS_INVALID_ARGUMENT, "not open any more");
    id = forward(s, 4, 2);
    golden_ok(s, trainlet_session_optimize(s), "optimize");
    give_gradient(s, id, 4);
    refused(s, trainlet_session_backward(s, id, NULL), STATUS_INVALID_ARGUMENT, "inplace operation");
    forward(s, 4, 3);
    trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){4, FEATURES});
    refused(s, trainlet_session_step(s), STATUS_INVALID_ARGUMENT, "YieldOp");
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static bool is_asked_to_stop(void *context) { return --*(int *)context < 0; }

static void a_run_that_is_stopped_leaves_nothing(const void *argument) {
  GoldenRun run;
  TrainletSession *s = open_session(&run, NULL);
  int left = 0, id = 0;
  if (s) {
    trainlet_session_stop_when(s, is_asked_to_stop, &left);
    trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){4, FEATURES});
    refused(s, trainlet_session_forward(s, &id), STATUS_ABORTED, "stopped");
    left = 1000;
    id = forward(s, 4, 1);
    give_gradient(s, id, 4);
    left = 0;
    refused(s, trainlet_session_backward(s, id, NULL), STATUS_ABORTED, "backward run was stopped");
    left = 1000;
    refused(s, trainlet_session_backward(s, id, NULL), STATUS_INVALID_ARGUMENT, "not open");
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* ---- memory ends ---- */

typedef struct Life {
  TrainletSession *s;
  int runs[2];
  float x[3][BATCH * FEATURES]; /* gradients towards the inputs */
} Life;

/* Each act, asked again, does what it did not have the memory for. */
static bool open_run(Life *l, int k) {
  int *id = &l->runs[k % 2];
  float *x = trainlet_session_feed(l->s, TRAINLET_TRAIN, "input", 1, 2, (int64_t[]){BATCH, FEATURES});
  for (int i = 0; x && i < BATCH * FEATURES; i++) x[i] = sinf((float)(i * (k + 1)));
  return x && trainlet_session_forward(l->s, id) == STATUS_OK;
}

static bool end_run(Life *l, int k) {
  int id = l->runs[k % 2];
  float *dy = trainlet_session_feed_gradient(l->s, id, "logits", 1, 2, (int64_t[]){BATCH, CLASSES});
  for (int i = 0; dy && i < BATCH * CLASSES; i++) dy[i] = cosf((float)i);
  if (!dy || trainlet_session_backward(l->s, id, "input") != STATUS_OK) return false;
  const TrainletTensor *t = trainlet_session_output(l->s, 0);
  if (check(t && t->count == BATCH * FEATURES, "no gradient towards the input")) memcpy(l->x[k], t->data, t->bytes);
  return true;
}

static bool optimize(Life *l, int k) {
  if (trainlet_session_optimize(l->s) != STATUS_OK) return false;
  trainlet_session_reset_grad(l->s);
  return true;
}

static void act(Life *l, bool (*does)(Life *l, int k), int k) {
  if (does(l, k)) return;
  check(memory_countdown == 0, "act %d fails: %s", k, trainlet_session_error(l->s)->text);
  refused(l->s, trainlet_session_error(l->s)->status, STATUS_OUT_OF_MEMORY, "memory");
  check(does(l, k), "act %d, asked again: %s", k, trainlet_session_error(l->s)->text);
}

/* Memory ends at the n-th place after the session is ready; gives how many there were. */
static long live(long n, Life *l, float *parameters) {
  GoldenRun run;
  *l = (Life){.s = open_session(&run, NULL)};
  memory_countdown = n;
  act(l, open_run, 0), act(l, open_run, 1); /* both to overwrite the gradients: the second goes on beside the first's */
  act(l, end_run, 0), act(l, end_run, 1);
  act(l, open_run, 2), act(l, end_run, 2); /* to add to them */
  act(l, optimize, 0);
  act(l, open_run, 0);
  trainlet_session_drop_forward(l->s, l->runs[0]);
  long left = memory_countdown;
  memory_countdown = 0;
  trainlet_session_copy_out(l->s, true, parameters);
  trainlet_session_free(l->s);
  golden_run_close(&run);
  return n - left;
}

static void memory_may_end_anywhere(const void *argument) {
  static Life wanted, came;
  static float trained[PARAMETERS], otherwise[PARAMETERS];
  if (!&memory_countdown) return;
  for (int pieces = 0; pieces < 2; pieces++) {
    memory_counts_pieces = pieces;
    long places = live(LONG_MAX, &wanted, trained);
    test_note("%ld places ", places);
    for (long n = 1; n <= places; n += pieces ? 7 : 1) {
      live(n, &came, otherwise);
      check(memcmp(wanted.x, came.x, sizeof came.x) == 0, "n = %ld: other gradients towards the inputs", n);
      check(memcmp(trained, otherwise, sizeof trained) == 0, "n = %ld: it trains otherwise", n);
    }
  }
  memory_counts_pieces = false;
}

int main(void) {
  TEST(the_order_of_backward_runs_is_free);
  TEST(runs_may_be_left_open);
  TEST(runs_do_not_add_up);
  TEST(what_cannot_be_is_refused);
  TEST(a_run_that_is_stopped_leaves_nothing);
  TEST(memory_may_end_anywhere);
  return test_finish();
}
