/* Inside: the text of a graph and its plan, and the times of nodes, through the public C API. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"
#include "kernels/peak.h"

enum { PLACES_MAX = 500 };

/* Bytes of the arena, and the nodes between which they are in use. */
typedef struct Place {
  size_t offset, bytes;
  int first, last;
} Place;

/* A clock that goes on by 1 ms each time it is asked. */
static double tick(void *context) { return ++*(double *)context; }
static double stand_still(void *context) { return 7; }

static TrainletSession *session_of(GoldenRun *run, const char *name) {
  return golden_run_open(run, name) ? golden_session(run, NULL, 0) : NULL;
}

/* The places on a line, `after` which mark they stand: of outputs with their lives, of scratch without. */
static int read_places(const char *line, int node, int nodes, Place *places) {
  int count = 0;
  for (const char *at = line; (at = strchr(at, '@')); at++) {
    Place *p = &places[count];
    int found = sscanf(at, "@%zu+%zu [%d, %d]", &p->offset, &p->bytes, &p->first, &p->last);
    if (found < 2) continue;
    if (found == 2) p->first = p->last = node;
    if (found == 3) p->last = nodes;
    bool shared = found > 2 && strncmp(strchr(at, ']'), "] in ", 5) == 0;
    count += !shared;
  }
  return count;
}

static bool meet(const Place *a, const Place *b) {
  bool in_time = a->first <= b->last && b->first <= a->last;
  return in_time && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static void check_places(const Place *places, int count, size_t arena) {
  for (int i = 0; i < count; i++) {
    const Place *p = &places[i];
    check(p->offset + p->bytes <= arena, "@%zu+%zu is past the arena's %zu bytes", p->offset, p->bytes, arena);
    check(p->first <= p->last, "a life from %d to %d", p->first, p->last);
    for (int k = 0; k < i; k++)
      check(!meet(p, &places[k]), "@%zu+%zu meets @%zu", p->offset, p->bytes, places[k].offset);
  }
}

static void a_plan_is_told_as_text(const void *argument) {
  GoldenRun run;
  TrainletSession *s = session_of(&run, argument);
  if (!s) return;
  const char *text = trainlet_session_graph(s, TRAINLET_TRAIN);
  check(text && strstr(text, " = SoftmaxCrossEntropyLoss '") && !strchr(text, '@'), "before a run it is %s",
        text ? text : "NULL");
  golden_step(&run, s, 0);
  text = trainlet_session_graph(s, TRAINLET_TRAIN);
  Place places[PLACES_MAX];
  int nodes = 0, steps = 0, count = 0, node = 0;
  size_t arena = 0;
  check(text && sscanf(text, "%d nodes, %d of them run, in an arena of %zu bytes", &nodes, &steps, &arena) == 3,
        "after a run it is %s", text ? text : "NULL");
  for (const char *line = text ? strchr(text, '\n') : NULL; line && line[1]; line = strchr(line + 1, '\n'), node++) {
    int number = -1;
    char copy[2000];
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line + 1, "\n"), line + 1);
    check(sscanf(copy, "%d  ", &number) == 1 && number == node, "line %d is %s", node, copy);
    if (count < PLACES_MAX - 20) count += read_places(copy, node, nodes, places + count);
  }
  check(node == nodes && steps > 0 && steps <= nodes && count > 5, "%d nodes, %d steps, %d lines, %d places", nodes,
        steps, node, count);
  check_places(places, count, arena);
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void each_node_is_timed(const void *argument) {
  GoldenRun run;
  TrainletSession *s = session_of(&run, argument);
  if (!s) return;
  double now = 0, losses[GOLDEN_STEPS];
  trainlet_session_time_nodes(s, tick, &now);
  for (int i = 0; i < GOLDEN_STEPS; i++) losses[i] = golden_step(&run, s, i);
  golden_check_losses(argument, losses);
  Arena arena = {0};
  const char *text = trainlet_session_node_times(s, TRAINLET_TRAIN);
  const Json *times = text ? json_parse(&arena, text) : NULL;
  const Json *nodes = times ? json_get(times, "nodes") : NULL;
  if (check(nodes != NULL, "the times are %s", text)) {
    double work = 0;
    int count = 0;
    for (const Json *n = nodes->child; n; n = n->next, count++) {
      check(json_number(n, "ms", 0) == 1, "'%s' took %g ms", json_text(n, "name"), json_number(n, "ms", 0));
      work += json_number(n, "work", 0);
    }
    double runs = json_number(times, "runs", 0);
    check(count > 5 && runs * (count + 1) <= now && runs >= 1, "%d nodes, %g runs, %g times asked", count, runs, now);
    check(work > 0 && json_number(times, "peak", 0) > 0, "work %g, peak %g", work, json_number(times, "peak", 0));
  }
  trainlet_session_time_nodes(s, tick, &now);
  check(!trainlet_session_node_times(s, TRAINLET_TRAIN), "times were not forgotten");
  trainlet_session_time_nodes(s, NULL, NULL);
  double then = now;
  golden_step(&run, s, 0);
  check(now == then, "the clock is asked though nothing is timed");
  arena_free(&arena);
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void check_refused(TrainletSession *s, const char *text, const char *wanted) {
  const Error *e = trainlet_session_error(s);
  check(!text && e->status == STATUS_INVALID_ARGUMENT && strcmp(e->text, wanted) == 0, "%s, not %s", e->text, wanted);
}

static void what_is_not_there_is_refused(const void *argument) {
  GoldenRun run;
  TrainletSession *empty = trainlet_session_new(), *s = session_of(&run, argument);
  check_refused(empty, trainlet_session_graph(empty, TRAINLET_TRAIN), "the session has no training model");
  trainlet_session_free(empty);
  if (!s) return;
  check_refused(s, trainlet_session_graph(s, TRAINLET_MODEL), "the session has no inference model");
  check_refused(s, trainlet_session_graph(s, TRAINLET_OPTIMIZER), "the session has no such model");
  check_refused(s, trainlet_session_graph(s, (TrainletPart)99), "the session has no such model");
  check_refused(s, trainlet_session_node_times(s, TRAINLET_MODEL), "the session has no inference model");
  check_refused(s, trainlet_session_node_times(s, TRAINLET_TRAIN), "no run of this model was timed");
  golden_step(&run, s, 0);
  check_refused(s, trainlet_session_node_times(s, TRAINLET_TRAIN), "no run of this model was timed");
  check(trainlet_session_graph(s, TRAINLET_TRAIN) != NULL, "the session does not go on");
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void a_clock_that_stands_still_measures_nothing(const void *argument) {
  double now = 0;
  check(peak_measure(stand_still, NULL) == 0, "a peak by a clock that stands still");
  check(peak_measure(tick, &now) > 0, "no peak");
}

int main(void) {
  for (const char *const *name = (const char *const[]){"w1", "cnn_bn", NULL}; *name; name++) {
    test_run(*name, a_plan_is_told_as_text, *name);
    test_run(*name, each_node_is_timed, *name);
  }
  test_run("what is not there is refused", what_is_not_there_is_refused, "cnn_bn");
  TEST(a_clock_that_stands_still_measures_nothing);
  return test_finish();
}
