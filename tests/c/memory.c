/* Memory: a step costs no allocation and no byte, from step 2 to step 2,000. */
#include <stdio.h>
#include <malloc.h>

#include "check.h"
#include "golden_run.h"

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer's own interface, whose header not every compiler brings. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t), void (*free_hook)(const volatile void *));
size_t __sanitizer_get_current_allocated_bytes(void);
static size_t allocations;
static void count_allocation(const volatile void *block, size_t bytes) {
  (void)block;
  (void)bytes;
  allocations++;
}
static void ignore_free(const volatile void *block) { (void)block; }
static void watch_allocations(void) { __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free); }
static size_t held_bytes(void) { return __sanitizer_get_current_allocated_bytes(); }
#else
static const size_t allocations; /* glibc counts no allocations, only bytes */
static void watch_allocations(void) {}
static size_t held_bytes(void) { return mallinfo2().uordblks + mallinfo2().hblkhd; }
#endif

enum { STEPS = 2000 };

static void a_step_costs_nothing(const void *argument) {
  GoldenRun run;
  TrainletSession *s = NULL;
  if (golden_run_open(&run, argument) && (s = golden_session(&run, NULL, 0))) {
    for (int step = 0; step < 2; step++) golden_step(&run, s, step);
    size_t bytes = held_bytes(), count = allocations;
    for (int step = 2; step < STEPS; step++) golden_step(&run, s, step % 50);
    check(held_bytes() == bytes, "%zu bytes were held after step 2, %zu after step %d", bytes, held_bytes(), STEPS);
    check(allocations == count, "%zu allocations in %d steps", allocations - count, STEPS - 2);
    trainlet_session_free(s);
  }
  golden_run_close(&run);
}

static void a_session_gives_everything_back(const void *argument) {
  size_t before = held_bytes();
  for (int i = 0; i < 5; i++) {
    GoldenRun run;
    TrainletSession *s = golden_run_open(&run, "mlp_momentum") ? golden_session(&run, NULL, 0) : NULL;
    if (s) golden_step(&run, s, 0), trainlet_session_free(s);
    golden_run_close(&run);
    if (i == 0) before = held_bytes(); /* stdio's buffers are there now */
  }
  check(held_bytes() == before, "%zu bytes were held after the first session, %zu after the fifth", before, held_bytes());
}

int main(void) {
  watch_allocations();
  test_run("a_step_costs_nothing (mlp_small, SGD)", a_step_costs_nothing, "mlp_momentum");
  test_run("a_step_costs_nothing (mlp_small, AdamW, accumulated)", a_step_costs_nothing, "mlp_accumulate");
  TEST(a_session_gives_everything_back);
  return test_finish();
}
