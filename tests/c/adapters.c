/* Adapters, natively: one learns while another is lent, both are saved and go on, alone too, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

static bool open_run(GoldenRun *run, const char *name) {
  if (!golden_run_open(run, name)) return false;
  trainlet_artifacts_set(run->artifacts, "lora.r", "2");
  bool built = trainlet_artifacts_build(run->artifacts) == STATUS_OK;
  check(built, "%s", trainlet_artifacts_error(run->artifacts)->text);
  return built;
}

static bool refuses(TrainletSession *s, Status status, const char *sentence) {
  return check(status != STATUS_OK && strstr(trainlet_session_error(s)->text, sentence), "not '%s' but '%s'", sentence,
               trainlet_session_error(s)->text);
}

static bool use(TrainletSession *s, const char *name) {
  return golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_USE, name), "using an adapter");
}

/* All values of the parameters in use. */
static float *copy_all(TrainletSession *s) {
  float *all = calloc(trainlet_session_element_count(s, TRAINLET_ALL) + 1, sizeof *all);
  trainlet_session_copy_out(s, TRAINLET_ALL, all);
  return all;
}

static void check_same(TrainletSession *a, TrainletSession *b, const char *what) {
  float *x = copy_all(a), *y = copy_all(b);
  check(memcmp(x, y, trainlet_session_element_count(a, TRAINLET_ALL) * sizeof *x) == 0, "%s differs", what);
  free(x), free(y);
}

/* Loads the artifacts, then the checkpoint of adapters over theirs. */
static TrainletSession *with_adapters(const GoldenRun *run, const void *over, size_t over_bytes) {
  TrainletSession *s = trainlet_session_new();
  for (TrainletPart part = TRAINLET_TRAIN; part <= TRAINLET_CHECKPOINT; part++) {
    size_t bytes;
    const void *file = trainlet_artifacts_bytes(run->artifacts, part, &bytes);
    golden_ok(s, trainlet_session_load(s, part, file, bytes), "loading artifacts");
  }
  bool ok = golden_ok(s, trainlet_session_load(s, TRAINLET_ADAPTERS, over, over_bytes), "loading adapters") &&
            golden_ok(s, trainlet_session_ready(s), "joining them");
  return ok ? s : (trainlet_session_free(s), NULL);
}

static TrainletSession *again(const GoldenRun *run, TrainletSession *s, TrainletFormat format) {
  size_t bytes;
  if (!golden_ok(s, trainlet_session_save(s, true, format), "saving")) return NULL;
  const void *file = trainlet_session_result(s, &bytes);
  return format == TRAINLET_FORMAT_ADAPTERS ? with_adapters(run, file, bytes) : golden_session(run, file, bytes);
}

static void check_goes_on(const GoldenRun *run, TrainletSession *s, TrainletFormat format) {
  TrainletSession *later = again(run, s, format);
  if (!later) return;
  check_same(s, later, "what was saved");
  const char *names[] = {"work", "default"};
  for (int k = 0; k < 2 && use(s, names[k]) && use(later, names[k]); k++) {
    for (int step = 5; step < 8; step++) golden_step(run, s, step), golden_step(run, later, step);
    check_same(s, later, names[k]);
  }
  if (use(s, NULL) && use(later, NULL)) check_same(s, later, "the base");
  trainlet_session_free(later);
}

static void one_learns_while_another_is_lent(const void *name) {
  GoldenRun run;
  TrainletSession *s = NULL, *alone = NULL;
  if (open_run(&run, name) && (s = golden_session(&run, NULL, 0)) && (alone = golden_session(&run, NULL, 0))) {
    golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, "work"), "adding");
    for (int step = 0; step < 5; step++) {
      golden_step(&run, s, step), golden_step(&run, alone, step);
      for (int k = 0; k < 2; k++) {
        golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_LEND, k ? NULL : "work"), "lending");
        refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, "default"), "is in use");
        refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, "none"), "there is no adapter 'none'");
        golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_RETURN, NULL), "giving back");
      }
    }
    check_same(s, alone, "one that was alone");
    use(s, "work");
    for (int step = 0; step < 5; step++) golden_step(&run, s, step);
    check_same(s, alone, "the second");
    check_goes_on(&run, s, TRAINLET_FORMAT_TRAINLET);
    use(s, "work");
    check_goes_on(&run, s, TRAINLET_FORMAT_ADAPTERS);
    golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, "work"), "deleting");
  }
  trainlet_session_free(s), trainlet_session_free(alone);
  golden_run_close(&run);
}

static void what_cannot_be_is_refused(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (open_run(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, "default"), "there is an adapter 'default' already");
    refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, NULL), "a property's name must not be empty");
    refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, "\xff"), "not UTF-8");
    refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_USE, "work"), "there is no adapter 'work'");
    refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, "default"), "is in use");
    refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, "work"), "there is no adapter 'work'");
    refuses(s, trainlet_session_adapter(s, (TrainletAdapter)9, "work"), "number 9");
    golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_RETURN, NULL), "nothing is lent");
    use(s, NULL);
    refuses(s, trainlet_session_optimize(s), "no adapter is in use that could train");
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* Each byte of what was saved, another one: it is refused, or goes on within its bytes. */
static void damaged_files_are_refused(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (open_run(&run, "mlp_momentum") && (s = golden_session(&run, NULL, 0))) {
    size_t bytes;
    golden_ok(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, "work"), "adding");
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_ADAPTERS), "saving");
    const void *file = trainlet_session_result(s, &bytes);
    uint8_t *copy = malloc(bytes);
    for (size_t at = 0; at < bytes; at += 1 + bytes / 500) {
      memcpy(copy, file, bytes);
      copy[at] ^= 0x41;
      TrainletSession *other = trainlet_session_new();
      check(trainlet_session_load(other, TRAINLET_ADAPTERS, copy, bytes) != STATUS_OK, "byte %zu", at);
      trainlet_session_free(other);
    }
    free(copy);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

int main(void) {
  test_run("one learns while another is lent, momentum", one_learns_while_another_is_lent, "mlp_momentum");
  test_run("one learns while another is lent, Adam", one_learns_while_another_is_lent, "regression_mse");
  TEST(what_cannot_be_is_refused);
  TEST(damaged_files_are_refused);
  return test_finish();
}
