/* Given memory: the engine lives in the bytes that trainlet_use_memory was given, calls no malloc, takes as many bytes
 * as it says, and is told in a sentence when there are too few. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

enum { PLENTY = 64 << 20 };

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer's own interface, whose header not every compiler brings. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));
static size_t allocations;
static void count_allocation(const volatile void *block, size_t bytes) { (void)block, (void)bytes, allocations++; }
static void ignore_free(const volatile void *block) { (void)block; }
static void watch_allocations(void) { __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free); }
#else
static const size_t allocations; /* elsewhere nobody counts them */
static void watch_allocations(void) {}
#endif

static char *memory;

/* Artifacts, ten steps, a run of the eval model, checkpoint and exported model. */
static void live(GoldenRun *run, const char *name) {
  TrainletSession *s = golden_session(run, NULL, 0);
  double losses[GOLDEN_STEPS];
  size_t before = 0;
  if (!s) return;
  for (int step = 0; step < GOLDEN_STEPS; step++) {
    losses[step] = golden_step(run, s, step);
    if (step == 1) before = trainlet_memory_used();
  }
  check(trainlet_memory_used() == before, "%zu bytes after step 2, %zu after step %d", before, trainlet_memory_used(),
        GOLDEN_STEPS);
  golden_ok(s, golden_feed(run, s, TRAINLET_EVAL, 0, 3) ? trainlet_session_run(s, TRAINLET_EVAL, NULL) : STATUS_OK,
            "eval");
  golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "save");
  golden_ok(s, trainlet_session_export(s, NULL, false), "export");
  trainlet_session_free(s);
  golden_check_losses(name, losses);
}

static void no_byte_is_mallocs(const void *name) {
  GoldenRun run;
  check(trainlet_use_memory(memory, PLENTY), "the memory is not taken");
  if (golden_run_open(&run, name)) {
    size_t before = allocations;
    live(&run, name);
    check(allocations <= before + 2, "%zu allocations", allocations - before); /* stdio's, for the file of losses */
  }
  golden_run_close(&run);
  test_note("%zu bytes", trainlet_memory_used());
  check(trainlet_use_memory(NULL, 0), "it is held although all is freed");
}

/* ---- how many bytes ---- */

enum { ROWS = 8, COLUMNS = 20 };

typedef struct Files {
  char *bytes[TRAINLET_CHECKPOINT + 1];
  size_t count[TRAINLET_CHECKPOINT + 1];
} Files;

/* ExternalLoss the engine's memory, which is changed under them. */
static bool make_files(Files *files) {
  GoldenRun run;
  bool made = golden_run_open(&run, "mlp_momentum");
  if (made) check(!trainlet_use_memory(memory, PLENTY), "memory changes under artifacts");
  for (int part = 0; made && part <= TRAINLET_CHECKPOINT; part++) {
    const void *bytes = trainlet_artifacts_bytes(run.artifacts, (TrainletPart)part, &files->count[part]);
    files->bytes[part] = memcpy(malloc(files->count[part]), bytes, files->count[part]);
  }
  golden_run_close(&run);
  return made;
}

static Status step(TrainletSession *s) {
  int64_t dims[] = {ROWS, COLUMNS};
  float *x = trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, dims);
  if (!x) return trainlet_session_error(s)->status;
  memset(x, 0, ROWS * COLUMNS * sizeof *x);
  int64_t *labels = trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, dims);
  if (!labels) return trainlet_session_error(s)->status;
  memset(labels, 0, ROWS * sizeof *labels);
  return trainlet_session_step(s);
}

/* Trains in so many bytes, or fails. */
static Status train_in(const Files *files, size_t bytes, Error *error) {
  static const TrainletPart parts[] = {TRAINLET_CHECKPOINT, TRAINLET_TRAIN, TRAINLET_OPTIMIZER};
  check(trainlet_use_memory(memory, bytes), "the memory is not taken");
  TrainletSession *s = trainlet_session_new();
  Status status = s ? STATUS_OK : STATUS_OUT_OF_MEMORY;
  for (int i = 0; !status && i < 3; i++)
    status = trainlet_session_load(s, parts[i], files->bytes[parts[i]], files->count[parts[i]]);
  if (!status) status = trainlet_session_ready(s);
  for (int i = 0; !status && i < 2; i++) status = step(s);
  *error = s ? *trainlet_session_error(s) : (Error){.text = "no session"};
  trainlet_session_free(s);
  return status;
}

static void it_needs_what_it_says(const void *argument) {
  (void)argument;
  Files files;
  Error error;
  if (!make_files(&files)) return;
  check(train_in(&files, PLENTY, &error) == STATUS_OK, "%s", error.text);
  size_t used = trainlet_memory_used();
  check(train_in(&files, used, &error) == STATUS_OK, "in %zu bytes: %s", used, error.text);
  check(trainlet_memory_used() == used, "%zu bytes instead of %zu", trainlet_memory_used(), used);
  for (size_t bytes = 64; bytes < used; bytes += used / 200 / 16 * 16) {
    Status status = train_in(&files, bytes, &error);
    check(status == STATUS_OUT_OF_MEMORY && *error.text, "in %zu bytes: %s '%s'", bytes, status_code(status),
          error.text);
  }
  check(train_in(&files, used - 16, &error) == STATUS_OUT_OF_MEMORY, "%zu bytes are enough, too", used - 16);
  char wanted[60];
  snprintf(wanted, sizeof wanted, "the bytes given are %zu, ", used - 16);
  check(strstr(error.text, wanted), "'%s' does not say '%s'", error.text, wanted);
  check(!trainlet_use_memory(memory, 63), "63 bytes are taken");
  trainlet_use_memory(NULL, 0);
  for (int part = 0; part <= TRAINLET_CHECKPOINT; part++) free(files.bytes[part]);
}

int main(void) {
  watch_allocations();
  memory = malloc(PLENTY);
  test_run("no_byte_is_mallocs (mlp_small, SGD)", no_byte_is_mallocs, "mlp_momentum");
  test_run("no_byte_is_mallocs (CNN, BatchNorm)", no_byte_is_mallocs, "cnn_bn");
  TEST(it_needs_what_it_says);
  free(memory);
  return test_finish();
}
