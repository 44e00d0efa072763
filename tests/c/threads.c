/* Threads: every chunk is done once, and the golden networks have the same bits with 1, 2 and 4 threads, each in a
 * process of its own.
 *
 *   test_threads              all tests
 *   test_threads --print      hashes of the weights as JSON: what tests/golden/data/engine-weights.json holds
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "golden_run.h"
#include "threads.h"

enum { HASHED_STEPS = 50, COUNTS_MAX = 1000 };

static const char *const runs[] = {"w1", "w2", "cnn_bn", "transformer", "tokens", "mlp_clip", NULL};

/* ---- chunks ---- */

typedef struct Counts {
  atomic_int done[COUNTS_MAX];
  atomic_int wrong_threads;
} Counts;

static void count_chunk(void *context, size_t chunk, int thread) {
  Counts *counts = context;
  atomic_fetch_add(&counts->done[chunk], 1);
  if (thread < 0 || thread >= threads_count()) atomic_fetch_add(&counts->wrong_threads, 1);
}

static void check_counts(Counts *counts, size_t chunks, int times) {
  for (size_t i = 0; i < COUNTS_MAX; i++) {
    int want = i < chunks ? times : 0;
    if (!check(counts->done[i] == want, "of %zu chunks, %zu was done %d times instead of %d", chunks, i,
               counts->done[i], want))
      break;
  }
  check(counts->wrong_threads == 0, "%d chunks had a thread's number that there is not", counts->wrong_threads);
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static void every_chunk_is_done_once(const void *argument) {
  static const size_t chunks[] = {0, 1, 2, 3, 7, 31, 1000};
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    Counts counts = {0};
    for (int round = 0; round < 300; round++) threads_run(chunks[i], count_chunk, &counts);
    for (int round = 0; round < 5; round++) {
      sleep_ms(3); /* helpers fall asleep */
      threads_run(chunks[i], count_chunk, &counts);
    }
    check_counts(&counts, chunks[i], 305);
  }
}

/* The caller and every chunk of the next region see what a region wrote. */
typedef struct Sums {
  int rounds[64]; /* not atomic on purpose: ThreadSanitizer tells when a region does not order them */
} Sums;

static void add_neighbour(void *context, size_t chunk, int thread) {
  Sums *sums = context;
  sums[1].rounds[chunk] = sums[0].rounds[(chunk + 1) % 64] + 1;
}

static void regions_follow_each_other(const void *argument) {
  Sums sums[2] = {0};
  for (int round = 1; round <= 2000; round++) {
    threads_run(64, add_neighbour, sums);
    for (int i = 0; i < 64; i++)
      if (!check(sums[1].rounds[i] == round, "round %d, chunk %d: %d", round, i, sums[1].rounds[i])) return;
    sums[0] = sums[1];
  }
}

static void run_nested(void *context, size_t chunk, int thread) {
  Counts inner = {0};
  threads_run(20, count_chunk, &inner);
  for (int i = 0; i < 20; i++)
    if (inner.done[i] == 1) atomic_fetch_add(&((Counts *)context)->done[chunk], 1);
}

static void a_nested_region_runs_in_its_chunk(const void *argument) {
  Counts counts = {0};
  threads_run(50, run_nested, &counts);
  check_counts(&counts, 50, 20);
}

typedef struct Ranges {
  atomic_int covered[5000];
  atomic_int ranges, shortest_but_last;
  size_t items;
} Ranges;

static void cover(void *context, size_t from, size_t to) {
  Ranges *r = context;
  atomic_fetch_add(&r->ranges, 1);
  for (size_t i = from; i < to; i++) atomic_fetch_add(&r->covered[i], 1);
  if (to < r->items && (int)(to - from) < r->shortest_but_last) r->shortest_but_last = (int)(to - from);
}

static void a_split_covers_all_items(const void *argument) {
  static const struct {
    size_t items, grain;
    int ranges;
  } splits[] = {{0, 10, 1},   {1, 1, 1},   {9, 10, 1},      {19, 10, 1},    {20, 10, 2},  {5, 1, 5},
                {100, 1, 25}, {64, 1, 32}, {5000, 1000, 5}, {4999, 16, 32}, {5000, 0, 32}};
  for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
    Ranges r = {.shortest_but_last = 5000, .items = splits[i].items};
    threads_split(splits[i].items, splits[i].grain, cover, &r);
#ifndef TRAINLET_SMALL_RANGES
    check(r.ranges == splits[i].ranges, "%zu items by %zu: %d ranges", splits[i].items, splits[i].grain, r.ranges);
    check(r.shortest_but_last >= (int)splits[i].grain, "%zu items by %zu: a range of %d", splits[i].items,
          splits[i].grain, r.shortest_but_last);
#endif
    for (size_t k = 0; k < 5000; k++)
      if (!check(r.covered[k] == (k < splits[i].items), "%zu items by %zu: item %zu %d times", splits[i].items,
                 splits[i].grain, k, r.covered[k]))
        break;
  }
}

static void the_count_is_fixed(const void *argument) {
  int count = threads_count();
  check(!trainlet_threads_start(count + 1), "a second pool is started");
  check(threads_count() == count, "%d threads became %d", count, threads_count());
}

/* ---- bits ---- */

/* FNV-1a over the bytes of all parameters. */
static uint32_t hash_parameters(TrainletSession *s) {
  uint32_t hash = 2166136261u;
  for (int k = 0; k < trainlet_session_parameter_count(s); k++) {
    TrainletTensor p = trainlet_session_parameter(s, k);
    for (size_t i = 0; i < p.bytes; i++) hash = (hash ^ ((const uint8_t *)p.data)[i]) * 16777619u;
  }
  return hash;
}

/* Trains; the first losses and, at the end, the hash. */
static uint32_t train(const char *name, double losses[GOLDEN_STEPS]) {
  GoldenRun run;
  uint32_t hash = 0;
  TrainletSession *s = golden_run_open(&run, name) ? golden_session(&run, NULL, 0) : NULL;
  if (s) {
    for (int step = 0; step < HASHED_STEPS; step++) {
      double loss = golden_step(&run, s, step);
      if (step < GOLDEN_STEPS) losses[step] = loss;
    }
    hash = hash_parameters(s);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
  return hash;
}

static void the_bits_are_those_of_one_thread(const void *argument) {
  const char *name = argument;
  double losses[GOLDEN_STEPS] = {0};
  Arena arena = {0};
  size_t bytes;
  char *text = file_read(&arena, "tests/golden/data/engine-weights.json", &bytes);
  uint32_t want = (uint32_t)json_number(text ? json_parse(&arena, text) : NULL, name, 0), got = train(name, losses);
  golden_check_losses(name, losses);
  check(got == want, "the weights' hash after %d steps is %u, the literal %u", HASHED_STEPS, got, want);
  arena_free(&arena);
}

static int print_hashes(void) {
  double losses[GOLDEN_STEPS];
  for (int i = 0; runs[i]; i++) printf("%s \"%s\": %u", i ? ",\n" : "{\n", runs[i], train(runs[i], losses));
  printf("\n}\n");
  return 0;
}

/* ---- a process for each count ---- */

static int run_all(int count) {
  check(trainlet_threads_start(count), "no pool of %d threads", count);
  TEST(the_count_is_fixed);
  TEST(every_chunk_is_done_once);
  TEST(regions_follow_each_other);
  TEST(a_nested_region_runs_in_its_chunk);
  TEST(a_split_covers_all_items);
  for (int i = 0; runs[i]; i++) test_run(runs[i], the_bits_are_those_of_one_thread, runs[i]);
  return test_finish();
}

static void in_a_process(const void *argument) {
  int count = *(const int *)argument, status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) exit(run_all(count));
  check(child > 0 && waitpid(child, &status, 0) == child, "no process");
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the tests with %d threads failed", count);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--print") == 0) return print_hashes();
  test_run("one thread", in_a_process, &(int){1});
  test_run("two threads", in_a_process, &(int){2});
  test_run("four threads", in_a_process, &(int){4});
  return test_finish();
}
