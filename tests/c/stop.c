/* Stop: a run that is told to stop, at whichever moment, fails in a sentence and leaves the session as if it had not
 * begun: the same bits follow. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "golden_run.h"
#include "threads.h"

/* Dropout with gradients that are added up; batch norm, convolutions; attention, layer norm. */
static const char *const runs[] = {"mlp_accumulate", "mlp_clip", "cnn_bn", "transformer", "recurrent", NULL};

/* Says no `left` times, then yes. */
typedef struct Patience {
  long left, asked;
} Patience;

static bool is_out_of_patience(void *context) {
  Patience *p = context;
  p->asked++;
  return p->left-- <= 0;
}

static uint32_t hash_parameters(TrainletSession *s) {
  uint32_t hash = 2166136261u;
  for (int k = 0; k < trainlet_session_parameter_count(s); k++) {
    TrainletTensor p = trainlet_session_parameter(s, k);
    for (size_t i = 0; i < p.bytes; i++) hash = (hash ^ ((const uint8_t *)p.data)[i]) * 16777619u;
  }
  return hash;
}

static Status micro_step(const GoldenRun *run, TrainletSession *s, int step, bool accumulates) {
  if (!golden_feed(run, s, TRAINLET_TRAIN, step, 0)) return STATUS_INVALID_FEED;
  return accumulates ? trainlet_session_run(s, TRAINLET_TRAIN, NULL) : trainlet_session_step(s);
}

static void end_group(TrainletSession *s, int step, int each) {
  if (each == 1 || (step + 1) % each) return;
  golden_ok(s, trainlet_session_optimize(s), "optimizer step");
  trainlet_session_reset_grad(s);
}

/* A try at batch `step` that is stopped after `left` questions; false when it was done before them. */
static bool stop_once(const GoldenRun *run, TrainletSession *s, int step, int each, long left) {
  Patience patience = {.left = left};
  uint32_t before = hash_parameters(s);
  trainlet_session_stop_when(s, is_out_of_patience, &patience);
  Status status = micro_step(run, s, step, each > 1);
  trainlet_session_stop_when(s, NULL, NULL);
  if (status == STATUS_OK) return false;
  const char *want =
      step % each
          ? "the run was stopped; no parameter was changed, and the gradients that were added up so far are dropped"
          : "the run was stopped; no parameter was changed";
  check(status == STATUS_ABORTED && strcmp(trainlet_session_error(s)->text, want) == 0, "after %ld questions: %s", left,
        trainlet_session_error(s)->text);
  check(hash_parameters(s) == before, "after %ld questions a parameter or statistic has changed", left);
  check(trainlet_session_output_count(s) == 0, "outputs of a run that was stopped");
  return true;
}

/* Questions of a batch's run on one thread. */
static long count_questions(const GoldenRun *run) {
  Patience patience = {.left = 1000000};
  TrainletSession *s = golden_session(run, NULL, 0);
  if (!s) return 0;
  trainlet_session_stop_when(s, is_out_of_patience, &patience);
  golden_ok(s, micro_step(run, s, 0, true), "step");
  trainlet_session_free(s);
  return patience.asked;
}

/* The loss of a batch that is stopped before, over the steps at every moment: 0 10 20 …, 1 11 21 …; after each, the
 * batches before it in its group are added up anew. With helpers fewer questions may be asked: then it is done. */
static double step_with_stops(const GoldenRun *run, TrainletSession *s, int step, int each, long questions,
                              long *stopped) {
  for (long left = step; left < questions; left += GOLDEN_STEPS, ++*stopped) {
    if (!stop_once(run, s, step, each, left)) {
      double loss = trainlet_session_loss(s);
      end_group(s, step, each);
      return loss;
    }
    for (int k = step - step % each; k < step; k++) golden_step(run, s, k);
  }
  return golden_step(run, s, step);
}

static void the_same_bits_follow(const void *argument) {
  GoldenRun run;
  double losses[GOLDEN_STEPS] = {0};
  long stopped = 0;
  TrainletSession *s = golden_run_open(&run, argument) ? golden_session(&run, NULL, 0) : NULL;
  long questions = s ? count_questions(&run) : 0;
  int each = (int)json_number(run.recipe, "accumulate", 1);
  check(questions > 5, "a batch asks %ld times", questions);
  for (int step = 0; s && step < GOLDEN_STEPS; step++)
    losses[step] = step_with_stops(&run, s, step, each, questions, &stopped);
  if (s) golden_check_losses(argument, losses);
  if (s) trainlet_session_free(s);
  check(stopped >= (threads_count() == 1 ? questions : GOLDEN_STEPS), "of %ld moments, it stopped at %ld", questions,
        stopped);
  test_note("stopped %ld times", stopped);
  golden_run_close(&run);
}

/* ---- chunks ---- */

static void count(void *context, size_t chunk, int thread) { atomic_fetch_add((atomic_int *)context, 1); }

static void a_region_leaves_chunks_undone(const void *argument) {
  for (long left = 0; left < 200; left++) {
    atomic_int done = 0;
    Patience patience = {.left = left};
    threads_watch(&(ThreadsStop){is_out_of_patience, &patience});
    threads_run(1000, count, &done);
    bool stopped = threads_stopped();
    threads_watch(NULL);
    check(stopped || done == 1000, "%d chunks were done, and nobody stopped", (int)done);
    check(patience.asked <= left + 2, "asked %ld times after %ld times no", patience.asked, left);
    if (threads_count() == 1)
      check(done == left + 1, "%d chunks were done with one thread, %ld times no", (int)done, left);
    done = 0;
    threads_run(1000, count, &done);
    check(done == 1000, "%d chunks of the next region were done", (int)done);
  }
}

static int run_all(int threads) {
  check(trainlet_threads_start(threads), "no pool of %d threads", threads);
  TEST(a_region_leaves_chunks_undone);
  for (int i = 0; runs[i]; i++) test_run(runs[i], the_same_bits_follow, runs[i]);
  return test_finish();
}

static void in_a_process(const void *argument) {
  int threads = *(const int *)argument, status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) exit(run_all(threads));
  check(child > 0 && waitpid(child, &status, 0) == child, "no process");
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the tests with %d threads failed", threads);
}

int main(void) {
  test_run("one thread", in_a_process, &(int){1});
  test_run("four threads", in_a_process, &(int){4});
  return test_finish();
}
