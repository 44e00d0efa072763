/* Values of adapters: each learns as if it were alone, whatever trains beside its matrices, and comes back from a
 * checkpoint as it was; what lending costs; and the sessions in which few parts are loaded. */
#include <stdlib.h>
#include <string.h>

#include "adapted.h"
#include "check.h"

/* Also the first parameter of all, biases and running statistics belong to each adapter. */
static const char *const statistics[] = {"lora.r", "2",         "lora.targets", "fc", "lora.modulesToSave",
                                         "conv1",  "lora.bias", "all",          NULL};
static const char *const whole[] = {"lora.r", "2",         "lora.targets", "fc2", "lora.modulesToSave",
                                    "fc1",    "lora.bias", "all",          NULL};
static const char *const matrices[] = {"lora.r", "2", NULL};
static const char long_name[] = "an adapter whose name takes more bytes than what stands before it, and than a block";

static void steps(const GoldenRun *run, TrainletSession *s, int count) {
  for (int step = 0; step < count; step++) golden_step(run, s, step);
}

static void check_same_as(TrainletSession *wanted, TrainletSession *s, const char *what) {
  float *values = adapted_values(wanted);
  adapted_check_values(s, values, true, what);
  free(values);
}

/* A session of what s saves. */
static TrainletSession *again(const GoldenRun *run, TrainletSession *s) {
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *later = NULL;
  if (adapted_read_saved(s, true, &arena, &c)) later = adapted_with_checkpoint(run, &c, TRAINLET_OPTIMIZER);
  if (later) golden_ok(later, trainlet_session_ready(later), "going on");
  arena_free(&arena);
  return later;
}

typedef struct Row {
  const char *network;
  const char *const *options;
} Row;
static const Row two_moments = {"cnn_bn", statistics}, no_moments = {"mlp_clip", whole};

static void each_learns_as_if_alone(const void *argument) {
  const Row *row = argument;
  GoldenRun run;
  TrainletSession *s = NULL, *alone = NULL, *later = NULL;
  if (adapted_open(&run, row->network, row->options) && (s = golden_session(&run, NULL, 0)) &&
      (alone = golden_session(&run, NULL, 0))) {
    float *first = adapted_values(s);
    steps(&run, alone, 3);
    adapted_do(s, TRAINLET_ADAPTER_ADD, long_name);
    steps(&run, s, 3);
    adapted_do(s, TRAINLET_ADAPTER_USE, long_name);
    adapted_check_values(s, first, true, "one that is new");
    steps(&run, s, 3);
    check_same_as(alone, s, "the second");
    adapted_do(s, TRAINLET_ADAPTER_USE, "default");
    check_same_as(alone, s, "the first, back");
    if ((later = again(&run, s))) {
      adapted_do(later, TRAINLET_ADAPTER_USE, long_name);
      check_same_as(alone, later, "the second, saved");
      steps(&run, later, 2), steps(&run, alone, 2);
      check_same_as(alone, later, "the second, gone on");
    }
    free(first);
  }
  trainlet_session_free(s), trainlet_session_free(alone), trainlet_session_free(later);
  golden_run_close(&run);
}

/* One that is added where `default` has learned begins with its A, and adds nothing. */
static void a_new_one_begins_with_zeros(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL, *later = NULL;
  if (adapted_open(&run, "cnn_bn", statistics) && (s = golden_session(&run, NULL, 0))) {
    steps(&run, s, 3);
    if ((later = again(&run, s))) {
      adapted_do(later, TRAINLET_ADAPTER_ADD, "work");
      adapted_do(later, TRAINLET_ADAPTER_USE, "work");
      for (int i = 0; i < trainlet_session_parameter_count(s); i++) {
        TrainletTensor was = trainlet_session_parameter(s, i), is = trainlet_session_parameter(later, i);
        const char *of = was.data, zeros[4096] = {0};
        if (strstr(was.name, "lora_B")) of = zeros;
        check(memcmp(is.data, of, was.bytes) == 0, "'%s' has other values", is.name);
      }
    }
  }
  trainlet_session_free(s), trainlet_session_free(later);
  golden_run_close(&run);
}

/* Matrices belong to each adapter, also where none of them trained when the checkpoint was saved. */
static void frozen_matrices_are_an_adapters(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL, *later = NULL;
  if (adapted_open(&run, "mlp_momentum", matrices) && (s = golden_session(&run, NULL, 0))) {
    float *first = adapted_values(s);
    golden_ok(s, trainlet_session_set_trainable(s, "fc2.lora*"), "freezing the others");
    if ((later = again(&run, s))) {
      adapted_do(later, TRAINLET_ADAPTER_ADD, "work");
      golden_ok(later, trainlet_session_set_trainable(later, "*lora*"), "training all");
      steps(&run, later, 3);
      adapted_check_values(later, first, false, "one that has learned");
      adapted_do(later, TRAINLET_ADAPTER_USE, "work");
      adapted_check_values(later, first, true, "one that has not");
    }
    free(first);
  }
  trainlet_session_free(s), trainlet_session_free(later);
  golden_run_close(&run);
}

/* The gradients of a run that waits are those of the adapter that it ran with. */
static void a_run_that_waits_is_of_its_adapter(const void *argument) {
  (void)argument;
  enum { BATCH = 16, CLASSES = 5 };
  static const char *const outside[] = {"lora.r", "2", "loss.type", "outside", NULL};
  GoldenRun run;
  TrainletSession *s = NULL;
  int id = 0;
  if (adapted_open(&run, "mlp_momentum", outside) && (s = golden_session(&run, NULL, 0))) {
    adapted_do(s, TRAINLET_ADAPTER_ADD, "work");
    golden_feed_input(&run, s, TRAINLET_TRAIN);
    golden_ok(s, trainlet_session_forward(s, &id), "forward");
    adapted_do(s, TRAINLET_ADAPTER_USE, "work");
    float *dy = trainlet_session_feed_gradient(s, id, "logits", 1, 2, (int64_t[]){BATCH, CLASSES});
    if (check(dy != NULL, "%s", trainlet_session_error(s)->text)) memset(dy, 0, BATCH * CLASSES * sizeof *dy);
    adapted_refuses(s, trainlet_session_backward(s, id, NULL), "parameters were changed after this forward run");
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* Adapters whose moments another optimizer has no use for. */
static void moments_of_another_optimizer_are_left_out(const void *argument) {
  (void)argument;
  GoldenRun with, without;
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *s = NULL, *later = NULL;
  bool open = adapted_open(&with, "mlp_momentum", whole), open_too = adapted_open(&without, "mlp_clip", whole);
  if (open && open_too && (s = adapted_learned(&with)) && adapted_read_saved(s, true, &arena, &c)) {
    check(c.adapters[0].moment_count == c.adapters[0].count, "%d moments", c.adapters[0].moment_count);
    c.moments = NULL, c.moment_count = 0, c.optimizer = "sgd";
    later = adapted_with_checkpoint(&without, &c, TRAINLET_OPTIMIZER);
    golden_ok(later, trainlet_session_ready(later), "going on");
    if (adapted_read_saved(later, true, &arena, &c))
      check(c.adapters[0].count && !c.adapters[0].moment_count, "%d moments", c.adapters[0].moment_count);
  }
  trainlet_session_free(s), trainlet_session_free(later);
  arena_free(&arena);
  golden_run_close(&with), golden_run_close(&without);
}

/* The training model alone says that a session has adapters. */
static void without_an_eval_model_there_are_adapters(const void *argument) {
  (void)argument;
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *s = NULL, *later = NULL;
  if (adapted_open(&run, "mlp_momentum", matrices) && (s = adapted_learned(&run)) &&
      adapted_read_saved(s, true, &arena, &c)) {
    later = adapted_with_checkpoint(&run, &c, TRAINLET_TRAIN);
    if (golden_ok(later, trainlet_session_ready(later), "going on")) check_same_as(s, later, "one without eval");
    adapted_do(later, TRAINLET_ADAPTER_USE, "default");
  }
  trainlet_session_free(s), trainlet_session_free(later);
  arena_free(&arena);
  golden_run_close(&run);
}

/* ---- lending ---- */

static long state_bytes(TrainletSession *s) {
  const char *at = strstr(trainlet_session_json(s), "\"stateBytes\":");
  return at ? strtol(at + strlen("\"stateBytes\":"), NULL, 10) : -1;
}

/* It takes room only for values that no adapter has. */
static void lending_takes_room_once(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open(&run, "mlp_momentum", matrices) && (s = golden_session(&run, NULL, 0))) {
    long before = state_bytes(s);
    adapted_do(s, TRAINLET_ADAPTER_LEND, NULL);
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    check(state_bytes(s) == before, "%ld bytes, before %ld", state_bytes(s), before);
    adapted_do(s, TRAINLET_ADAPTER_USE, NULL);
    adapted_do(s, TRAINLET_ADAPTER_LEND, "default");
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    long after = state_bytes(s);
    check(after > before, "%ld bytes, before %ld", after, before);
    adapted_do(s, TRAINLET_ADAPTER_LEND, "default");
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    check(state_bytes(s) == after, "%ld bytes, before %ld", state_bytes(s), after);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void one_that_was_given_back_is_free(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open(&run, "mlp_momentum", matrices) && (s = golden_session(&run, NULL, 0))) {
    adapted_do(s, TRAINLET_ADAPTER_ADD, "work");
    steps(&run, s, 2);
    adapted_do(s, TRAINLET_ADAPTER_LEND, "work");
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    adapted_do(s, TRAINLET_ADAPTER_USE, "work");
    float *work = adapted_values(s);
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    adapted_check_values(s, work, true, "one in use, when nothing is lent");
    adapted_do(s, TRAINLET_ADAPTER_DELETE, "default");
    free(work);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* Weights that an adapter has of its own and that do not train are packed for convolutions: another one's anew. */
static void frozen_convolutions_are_packed_anew(const void *argument) {
  (void)argument;
  static const char *const options[] = {
      "lora.r", "2", "lora.targets", "conv1", "lora.modulesToSave", "conv2", "lora.modulesToSave", "conv3", NULL};
  enum { FEW = 4 };
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open(&run, "unet_sgd", options) && (s = golden_session(&run, NULL, 0))) {
    double base = adapted_eval_loss(&run, s, FEW);
    steps(&run, s, 3);
    double trained = adapted_eval_loss(&run, s, FEW);
    golden_ok(s, trainlet_session_set_trainable(s, "conv1.lora*"), "freezing the others");
    check(adapted_eval_loss(&run, s, FEW) == trained && trained != base, "losses %g, %g", trained, base);
    adapted_do(s, TRAINLET_ADAPTER_USE, NULL);
    double is = adapted_eval_loss(&run, s, FEW);
    check(is == base, "the base's loss is %g, not %g", is, base);
    adapted_do(s, TRAINLET_ADAPTER_USE, "default");
    is = adapted_eval_loss(&run, s, FEW);
    check(is == trained, "the adapter's loss is %g, not %g", is, trained);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

int main(void) {
  test_run("each learns as if alone, two moments", each_learns_as_if_alone, &two_moments);
  test_run("each learns as if alone, no moments", each_learns_as_if_alone, &no_moments);
  TEST(a_new_one_begins_with_zeros);
  TEST(frozen_matrices_are_an_adapters);
  TEST(a_run_that_waits_is_of_its_adapter);
  TEST(moments_of_another_optimizer_are_left_out);
  TEST(without_an_eval_model_there_are_adapters);
  TEST(lending_takes_room_once);
  TEST(one_that_was_given_back_is_free);
  TEST(frozen_convolutions_are_packed_anew);
  return test_finish();
}
