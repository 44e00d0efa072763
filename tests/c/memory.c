/* Memory: a step costs no allocation and no byte, from step 2 to step 2,000; and no call adds up, however often it is
 * made. */
#include <stdio.h>
#include <string.h>
#include <malloc.h>

#include "check.h"
#include "golden_run.h"

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer's own interface, whose header not every compiler brings. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));
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
  check(held_bytes() == before, "%zu bytes were held after the first session, %zu after the fifth", before,
        held_bytes());
}

/* ---- every call, over and over ---- */

typedef struct Calls {
  GoldenRun run;
  TrainletSession *ready, *fresh;
  TrainletArtifacts *artifacts;
  const void *model;
  size_t model_bytes;
} Calls;

static void set_text(Calls *c, int i) {
  char text[1000];
  memset(text, 'a' + i % 26, sizeof text);
  text[i % 999] = 0;
  check(trainlet_session_property_set_string(c->ready, i % 2 ? "one" : "other", text) == STATUS_OK, "%s",
        trainlet_session_error(c->ready)->text);
}
static void come_and_go(Calls *c, int i) {
  char name[40];
  snprintf(name, sizeof name, "property %d", i);
  trainlet_session_property_set_int(c->ready, name, i);
  trainlet_session_property_delete(c->ready, name);
}
static void describe(Calls *c, int i) {
  (void)i;
  check(trainlet_session_json(c->ready) && trainlet_session_properties(c->ready), "it describes nothing");
}
static void feed_wrongly(Calls *c, int i) {
  int64_t dims[] = {1, i}; /* wrong type, too */
  check(!trainlet_session_feed(c->ready, TRAINLET_EVAL, i % 2 ? "nobody" : "input", 7, 2, dims),
        "a wrong feed is taken");
}
static void fetch_wrongly(Calls *c, int i) {
  (void)i;
  check(trainlet_session_run(c->ready, TRAINLET_EVAL, "nobody") != STATUS_OK, "an unknown value is fetched");
}
static void evaluate(Calls *c, int i) {
  golden_feed(&c->run, c->ready, TRAINLET_EVAL, i, 1 + i % 12); /* more sizes than programs are kept */
  golden_ok(c->ready, trainlet_session_run(c->ready, TRAINLET_EVAL, i % 3 ? NULL : "logits"), "run");
}
static void save(Calls *c, int i) {
  golden_ok(c->ready, trainlet_session_save(c->ready, true, (TrainletFormat)(i % 3)), "save");
  trainlet_session_result_free(c->ready);
}
static void export(Calls *c, int i) {
  golden_ok(c->ready, trainlet_session_export(c->ready, NULL, i % 2), "export");
  trainlet_session_result_free(c->ready);
}
static void load_late(Calls *c, int i) {
  (void)i;
  check(trainlet_session_load(c->ready, TRAINLET_MODEL, c->model, c->model_bytes) != STATUS_OK,
        "a ready session loads a part");
}
static void load_again(Calls *c, int i) {
  (void)i;
  golden_ok(c->fresh, trainlet_session_load(c->fresh, TRAINLET_MODEL, c->model, c->model_bytes), "load");
}
static void load_torn(Calls *c, int i) {
  size_t bytes = c->model_bytes - 1 - (size_t)i % 100;
  void *to = trainlet_session_file(c->fresh, bytes);
  memcpy(to, c->model, bytes);
  check(trainlet_session_load(c->fresh, TRAINLET_MODEL, to, bytes) != STATUS_OK, "a torn model is loaded");
}
static void give_again(Calls *c, int i) {
  check(trainlet_session_external(c->fresh, "weights", 1000 + (size_t)i % 10), "no room");
}
static void option(Calls *c, int i) {
  trainlet_artifacts_set(c->artifacts, "loss.weights", i % 2 ? "1,2,3,4" : "none");
  trainlet_artifacts_set(c->artifacts, "losses.0.weights", i % 2 ? "1,2,3,4" : "1,2");
}
static void load_artifacts(Calls *c, int i) {
  trainlet_artifacts_load(c->artifacts, c->model, c->model_bytes - (size_t)(i % 2));
}
static void build(Calls *c, int i) {
  (void)i;
  check(trainlet_artifacts_build(c->run.artifacts) == STATUS_OK, "%s",
        trainlet_artifacts_error(c->run.artifacts)->text);
}

static const struct Repeated {
  const char *name;
  void (*call)(Calls *, int);
  int times;
  size_t slack; /* bytes that texts which were replaced may wait in */
} repeated[] = {
    {"set_text", set_text, 100000, 1 << 20},
    {"come_and_go", come_and_go, 10000, 1 << 20},
    {"describe", describe, 10000, 0},
    {"feed_wrongly", feed_wrongly, 10000, 0},
    {"fetch_wrongly", fetch_wrongly, 10000, 0},
    {"evaluate", evaluate, 10000, 1 << 16},
    {"save", save, 10000, 0},
    {"export", export, 10000, 0},
    {"load_late", load_late, 10000, 0},
    {"load_again", load_again, 10000, 0},
    {"load_torn", load_torn, 10000, 0},
    {"give_again", give_again, 10000, 0},
    {"option", option, 10000, 0},
    {"load_artifacts", load_artifacts, 10000, 0},
    {"build", build, 2000, 0},
};

static void calls_do_not_add_up(const void *argument) {
  const struct Repeated *of = argument;
  Calls c = {0};
  if (golden_run_open(&c.run, "mlp_momentum") && (c.ready = golden_session(&c.run, NULL, 0)) &&
      (c.fresh = trainlet_session_new()) && (c.artifacts = trainlet_artifacts_new())) {
    c.model = file_read(&c.run.arena, "tests/golden/data/mlp_small.onnx", &c.model_bytes);
    int first = of->times / 50;
    for (int i = 0; i < first; i++) of->call(&c, i);
    size_t held = held_bytes();
    for (int i = first; i < of->times; i++) of->call(&c, i);
    check(held_bytes() <= held + of->slack, "%zu bytes were held after %d calls, %zu after %d", held, first,
          held_bytes(), of->times);
  }
  trainlet_session_free(c.ready);
  trainlet_session_free(c.fresh);
  if (c.artifacts) trainlet_artifacts_free(c.artifacts);
  golden_run_close(&c.run);
}

int main(void) {
  watch_allocations();
  test_run("a_step_costs_nothing (mlp_small, SGD)", a_step_costs_nothing, "mlp_momentum");
  test_run("a_step_costs_nothing (mlp_small, AdamW, accumulated)", a_step_costs_nothing, "mlp_accumulate");
  TEST(a_session_gives_everything_back);
  for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
    test_run(repeated[i].name, calls_do_not_add_up, &repeated[i]);
  return test_finish();
}
