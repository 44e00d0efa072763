/* Checkpoints of adapters: what one that was changed says of adapters' tensors is refused before a byte is copied; what
 * waits comes back as it was; and what adding, lending and deleting leave of a session. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapted.h"
#include "check.h"

/* ---- what a file may say ---- */

typedef struct Edit {
  const char *what, *sentence;
  void (*change)(Checkpoint *c);
} Edit;

static const float numbers[1 << 12]; /* more than any tensor here has */

static void resize(CheckpointTensor *t, Dim count, DType type) {
  t->type = type;
  t->shape = SHAPE(count);
  t->data = numbers;
  t->bytes = (size_t)count * sizeof(float);
}

static void rename_tensor(Checkpoint *c) { c->adapters[0].tensors[1].name = "x"; }
static void grow_tensor(Checkpoint *c) { resize(&c->adapters[0].tensors[0], 4000, DTYPE_FLOAT32); }
static void shrink_tensor(Checkpoint *c) { resize(&c->adapters[0].tensors[0], 1, DTYPE_FLOAT32); }
static void retype_tensor(Checkpoint *c) {
  CheckpointTensor *t = &c->adapters[0].tensors[0];
  resize(t, (Dim)(t->bytes / sizeof(float)), DTYPE_INT32);
}
static void grow_moment(Checkpoint *c) { resize(&c->adapters[0].moments[0].moment[0], 4000, DTYPE_FLOAT32); }
static void retype_moment(Checkpoint *c) {
  CheckpointTensor *t = &c->adapters[0].moments[0].moment[0];
  resize(t, (Dim)(t->bytes / sizeof(float)), DTYPE_INT32);
}
static void rename_moments(Checkpoint *c) { c->adapters[0].moments[0].parameter = "y"; }
static void drop_a_moment(Checkpoint *c) { c->adapters[0].moments[0].count--; }
static void rename_start(Checkpoint *c) { c->start[0].name = "z"; }
static void grow_start(Checkpoint *c) { resize(&c->start[1], 4000, DTYPE_FLOAT32); }

static const Edit edits[] = {
    {"a name of none", "the checkpoint's 'x' of adapter 'default' is none of", rename_tensor},
    {"more numbers", "of adapter 'default' is none of", grow_tensor},
    {"fewer numbers", "of adapter 'default' is none of", shrink_tensor},
    {"another type", "of adapter 'default' is none of", retype_tensor},
    {"a larger moment", "of adapter 'default' is none of", grow_moment},
    {"a moment of integers", "of adapter 'default' is none of", retype_moment},
    {"moments of none", "the checkpoint's 'y' of adapter 'default' is none of", rename_moments},
    {"a moment fewer", "of adapter 'default' is none of", drop_a_moment},
    {"a beginning of none", "the checkpoint's 'z' of adapter '' is none of", rename_start},
    {"a larger beginning", "of adapter '' is none of", grow_start},
};

static void what_a_file_says_of_adapters_is_checked(const void *argument) {
  const Edit *edit = argument;
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *s = NULL, *later = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = adapted_learned(&run)) &&
      adapted_read_saved(s, true, &arena, &c)) {
    edit->change(&c);
    later = adapted_with_checkpoint(&run, &c, TRAINLET_OPTIMIZER);
    adapted_refuses(later, trainlet_session_ready(later), edit->sentence);
  }
  trainlet_session_free(s), trainlet_session_free(later);
  arena_free(&arena);
  golden_run_close(&run);
}

/* ---- what waits comes back ---- */

static bool same_tensor(const CheckpointTensor *a, const CheckpointTensor *b) {
  return strcmp(a->name, b->name) == 0 && a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

static void check_same(const Checkpoint *a, const Checkpoint *b) {
  check(strcmp(a->adapter, b->adapter) == 0, "'%s' is in use, it was '%s'", b->adapter, a->adapter);
  if (!check(a->adapter_count == b->adapter_count && a->start_count == b->start_count, "another count")) return;
  for (int i = 0; i < a->start_count; i++)
    check(same_tensor(&a->start[i], &b->start[i]), "the beginning of '%s' differs", a->start[i].name);
  for (int i = 0; i < a->adapter_count; i++) {
    const CheckpointAdapter *x = &a->adapters[i], *y = &b->adapters[i];
    check(strcmp(x->name, y->name) == 0 && x->count == y->count && x->moment_count == y->moment_count, "'%s'", x->name);
    for (int k = 0; k < x->count && k < y->count; k++)
      check(same_tensor(&x->tensors[k], &y->tensors[k]), "'%s' of '%s' differs", x->tensors[k].name, x->name);
    for (int k = 0; k < x->moment_count && k < y->moment_count; k++) {
      const CheckpointMoments *m = &x->moments[k], *n = &y->moments[k];
      check(m->steps == n->steps && m->count == n->count, "'%s' has %d steps, it had %d", m->parameter, (int)n->steps,
            (int)m->steps);
      for (int j = 0; j < m->count; j++)
        check(same_tensor(&m->moment[j], &n->moment[j]), "moment %d of '%s'", j, m->parameter);
    }
  }
}

static void check_steps(const Checkpoint *c, int first, int second) {
  for (int i = 0; i < c->adapter_count; i++)
    for (int k = 0; k < c->adapters[i].moment_count; k++) {
      const CheckpointMoments *m = &c->adapters[i].moments[k];
      int wanted = strcmp(c->adapters[i].name, "work") == 0 ? second : first;
      check(m->steps == wanted, "'%s' of '%s' has %d steps, not %d", m->parameter, c->adapters[i].name, (int)m->steps,
            wanted);
    }
}

typedef struct Waiting {
  const char *network, *bias;
} Waiting;
static const Waiting momentum = {"mlp_momentum", "none"}, biases = {"mlp_momentum", "all"},
                     moments_of_two = {"regression_mse", "all"};

static void what_waits_comes_back(const void *argument) {
  const Waiting *row = argument;
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c, again, base, bare;
  TrainletSession *s = NULL, *later = NULL;
  if (adapted_open_with_bias(&run, row->network, row->bias) && (s = adapted_learned(&run)) &&
      adapted_read_saved(s, true, &arena, &c)) {
    check(c.adapter_count == 2 && strcmp(c.adapter, "work") == 0, "%d adapters, '%s' in use", c.adapter_count,
          c.adapter);
    check(c.adapters[0].count > 0 && c.adapters[1].count == 0, "of the one in use it has the name alone");
    check(c.adapters[0].moment_count == c.adapters[0].count, "%d moments", c.adapters[0].moment_count);
    check_steps(&c, 3, 2);
    later = adapted_with_checkpoint(&run, &c, TRAINLET_OPTIMIZER);
    if (golden_ok(later, trainlet_session_ready(later), "going on") && adapted_read_saved(later, true, &arena, &again))
      check_same(&c, &again);
    adapted_do(later, TRAINLET_ADAPTER_USE, NULL);
    if (adapted_read_saved(later, true, &arena, &base))
      check_steps(&base, 3, 2), check(!*base.adapter, "none is in use");
    trainlet_session_free(later);
    later = adapted_with_checkpoint(&run, &base, TRAINLET_OPTIMIZER);
    if (golden_ok(later, trainlet_session_ready(later), "going on from the base"))
      if (adapted_read_saved(later, true, &arena, &again)) check_same(&base, &again);
    adapted_do(s, TRAINLET_ADAPTER_USE, "default");
    if (adapted_read_saved(s, true, &arena, &again))
      check(again.adapter_count == 2 && again.adapters[1].count == c.adapters[0].count, "'work' waits");
    if (adapted_read_saved(s, false, &arena, &bare))
      check(bare.adapters[1].moment_count == 0, "moments that nobody asked for");
  }
  trainlet_session_free(s), trainlet_session_free(later);
  arena_free(&arena);
  golden_run_close(&run);
}

/* One called `default`, alone and in use, is what a checkpoint has that knows no adapters. */
static void one_alone_is_told_by_its_name(const void *argument) {
  (void)argument;
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *s = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = adapted_learned(&run))) {
    adapted_do(s, TRAINLET_ADAPTER_DELETE, "default");
    if (adapted_read_saved(s, true, &arena, &c))
      check(c.adapter && strcmp(c.adapter, "work") == 0 && c.adapter_count == 1 && c.start_count > 0, "'work' alone");
    adapted_do(s, TRAINLET_ADAPTER_USE, NULL);
    adapted_do(s, TRAINLET_ADAPTER_DELETE, "work");
    if (adapted_read_saved(s, true, &arena, &c))
      check(c.adapter && !*c.adapter && !c.adapter_count, "no adapter is left");
    adapted_do(s, TRAINLET_ADAPTER_ADD, "default");
    if (adapted_read_saved(s, true, &arena, &c))
      check(c.adapter && !*c.adapter && c.adapter_count == 1, "it is not in use");
    adapted_do(s, TRAINLET_ADAPTER_USE, "default");
    if (adapted_read_saved(s, true, &arena, &c))
      check(!c.adapter && !c.adapter_count && !c.start_count, "'default' alone");
  }
  trainlet_session_free(s);
  arena_free(&arena);
  golden_run_close(&run);
}

/* Biases that trained belong to each adapter, also where they train no more, and where one alone is left. */
static void what_has_trained_stays_an_adapters(const void *argument) {
  (void)argument;
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c, again;
  TrainletSession *s = NULL, *later = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "all") && (s = adapted_learned(&run))) {
    golden_ok(s, trainlet_session_set_trainable(s, "*lora_B*"), "freezing the others");
    adapted_do(s, TRAINLET_ADAPTER_DELETE, "default");
    if (adapted_read_saved(s, true, &arena, &c)) {
      later = adapted_with_checkpoint(&run, &c, TRAINLET_OPTIMIZER);
      if (golden_ok(later, trainlet_session_ready(later), "going on") &&
          adapted_read_saved(later, true, &arena, &again))
        check_same(&c, &again);
    }
  }
  trainlet_session_free(s), trainlet_session_free(later);
  arena_free(&arena);
  golden_run_close(&run);
}

/* A new adapter begins with it, and may be saved. */
static void a_beginning_that_is_not_finite_is_of_outside(const void *argument) {
  (void)argument;
  static const char *const options[] = {"lora.r", "2", "lora.modulesToSave", "fc1", "lora.bias", "all", NULL};
  static float nans[1 << 12];
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *s = NULL, *later = NULL;
  for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) nans[i] = NAN;
  if (adapted_open(&run, "mlp_momentum", options) && (s = golden_session(&run, NULL, 0)) &&
      adapted_read_saved(s, true, &arena, &c)) {
    for (int i = 0; i < c.trainable_count; i++) c.trainable[i].data = nans;
    later = adapted_with_checkpoint(&run, &c, TRAINLET_OPTIMIZER);
    if (golden_ok(later, trainlet_session_ready(later), "going on")) {
      adapted_do(later, TRAINLET_ADAPTER_ADD, "work");
      adapted_do(later, TRAINLET_ADAPTER_USE, "work");
      golden_ok(later, trainlet_session_save(later, true, TRAINLET_FORMAT_TRAINLET), "NaNs of outside");
    }
  }
  trainlet_session_free(s), trainlet_session_free(later);
  arena_free(&arena);
  golden_run_close(&run);
}

/* ---- values ---- */

static void each_has_its_own_values(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = golden_session(&run, NULL, 0))) {
    float *first = adapted_values(s);
    for (int step = 0; step < 3; step++) golden_step(&run, s, step);
    float *trained = adapted_values(s);
    adapted_do(s, TRAINLET_ADAPTER_ADD, "work");
    adapted_refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_LEND, "more"), "there is no adapter 'more'");
    adapted_check_values(s, trained, true, "one in use, when none was lent");
    adapted_do(s, TRAINLET_ADAPTER_LEND, "work");
    adapted_check_values(s, first, true, "a new one, lent: as it began");
    trainlet_session_copy_in(s, TRAINLET_ALL, trained);
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    adapted_check_values(s, trained, true, "the lender");
    trainlet_session_copy_in(s, TRAINLET_ALL, first);
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    adapted_check_values(s, first, true, "one in use, when nothing is lent");
    adapted_do(s, TRAINLET_ADAPTER_LEND, "work");
    adapted_check_values(s, trained, true, "one that was written while it was lent");
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    trainlet_session_copy_in(s, TRAINLET_ALL, trained);
    adapted_do(s, TRAINLET_ADAPTER_LEND, NULL);
    adapted_check_values(s, trained, false, "the base, lent");
    adapted_refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_LEND, "more"),
                    "there is no adapter 'more'; there are 'default', 'work'");
    adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    adapted_do(s, TRAINLET_ADAPTER_USE, NULL);
    float *sum = adapted_values(s);
    size_t count = trainlet_session_element_count(s, TRAINLET_ALL);
    for (size_t i = 0; i < count; i++) sum[i] += (float)i;
    trainlet_session_copy_in(s, TRAINLET_ALL, sum);
    for (int k = 0; k < 2; k++) {
      adapted_do(s, TRAINLET_ADAPTER_LEND, "default");
      adapted_refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_DELETE, "default"), "is in use");
      adapted_check_values(s, sum, false, "what is lent to none");
      adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
      adapted_check_values(s, sum, true, "none of the adapters");
      adapted_do(s, TRAINLET_ADAPTER_RETURN, NULL);
    }
    free(first), free(trained), free(sum);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* Numbers that came from outside and are not finite may be saved; those that training made so may not. */
static void what_is_not_finite_stays_with_its_adapter(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = golden_session(&run, NULL, 0))) {
    adapted_do(s, TRAINLET_ADAPTER_ADD, "work");
    float *all = adapted_values(s), *good = adapted_values(s);
    size_t count = trainlet_session_element_count(s, TRAINLET_ALL);
    for (size_t i = 0; i < count; i++) all[i] = NAN;
    trainlet_session_copy_in(s, TRAINLET_ALL, all);
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "NaNs of outside");
    adapted_do(s, TRAINLET_ADAPTER_USE, "work");
    adapted_do(s, TRAINLET_ADAPTER_USE, "default");
    golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "NaNs of outside, back");
    trainlet_session_copy_in(s, TRAINLET_ALL, good);
    adapted_do(s, TRAINLET_ADAPTER_USE, "work");
    for (int i = 0; i < trainlet_session_parameter_count(s); i++) {
      TrainletTensor t = trainlet_session_parameter(s, i);
      if (strstr(t.name, "lora_A")) ((float *)(uintptr_t)t.data)[0] = NAN;
    }
    adapted_refuses(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "values that are not finite");
    free(all), free(good);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* ---- what is left of a session ---- */

static long state_bytes(TrainletSession *s) {
  const char *text = trainlet_session_json(s), *at = text ? strstr(text, "\"stateBytes\":") : NULL;
  return at ? strtol(at + strlen("\"stateBytes\":"), NULL, 10) : -1;
}

static void memory_is_counted(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = golden_session(&run, NULL, 0))) {
    long before = state_bytes(s);
    adapted_do(s, TRAINLET_ADAPTER_ADD, "work");
    long with = state_bytes(s);
    size_t trains = trainlet_session_element_count(s, TRAINLET_TRAINABLE) * sizeof(float);
    check(with - before >= 2 * (long)trains && with - before < 3 * (long)trains + 4096, "%ld bytes more for %zu",
          with - before, trains);
    adapted_do(s, TRAINLET_ADAPTER_DELETE, "work");
    check(state_bytes(s) == before, "%ld bytes are left, before %ld", state_bytes(s), before);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

/* Gradients, the place in the data and a loss that waits for its half are of the adapter that was in use. */
static void another_begins_anew(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL, *other = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = golden_session(&run, NULL, 0)) &&
      (other = golden_session(&run, NULL, 0))) {
    adapted_do(s, TRAINLET_ADAPTER_ADD, "work");
    for (int i = 0; i < 5; i++) trainlet_session_set_position(s, i, 7);
    golden_ok(s, trainlet_session_set_ema(s, 0.5, false), "averaging");
    golden_step(&run, s, 1);
    golden_ok(s, trainlet_session_best(s, TRAINLET_BEST_KEEP), "keeping the best");
    golden_feed(&run, s, TRAINLET_TRAIN, 5, 0);
    golden_ok(s, trainlet_session_run(s, TRAINLET_TRAIN, NULL), "half a step");
    adapted_do(s, TRAINLET_ADAPTER_USE, "work");
    adapted_refuses(s, trainlet_session_swap_ema(s), "average");
    float *first = adapted_values(s);
    trainlet_session_best(s, TRAINLET_BEST_RESTORE);
    adapted_check_values(s, first, true, "one without a best");
    free(first);
    for (int i = 0; i < 5; i++)
      check(trainlet_session_position(s, i) == 0, "position %d is %d", i, (int)trainlet_session_position(s, i));
    TrainletSession *both[] = {s, other};
    for (int k = 0; k < 2; k++) {
      golden_feed(&run, both[k], TRAINLET_TRAIN, 0, 0);
      golden_ok(both[k], trainlet_session_run(both[k], TRAINLET_TRAIN, NULL), "a whole step");
      golden_ok(both[k], trainlet_session_optimize(both[k]), "optimizing");
    }
    float *wanted = adapted_values(other);
    adapted_check_values(s, wanted, true, "one that began");
    free(wanted);
  }
  trainlet_session_free(s), trainlet_session_free(other);
  golden_run_close(&run);
}

/* Matrices that do not train are packed for products: another adapter's are packed anew. */
static void frozen_matrices_are_packed_anew(const void *argument) {
  (void)argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", "none") && (s = golden_session(&run, NULL, 0))) {
    double base = adapted_eval_loss(&run, s, 0);
    for (int step = 0; step < 5; step++) golden_step(&run, s, step);
    double trained = adapted_eval_loss(&run, s, 0);
    golden_ok(s, trainlet_session_set_trainable(s, "fc2.lora*"), "freezing the others");
    check(adapted_eval_loss(&run, s, 0) == trained && trained != base, "losses %g, %g", trained, base);
    adapted_do(s, TRAINLET_ADAPTER_USE, NULL);
    check(adapted_eval_loss(&run, s, 0) == base, "the base's loss is %g, not %g", adapted_eval_loss(&run, s, 0), base);
    adapted_do(s, TRAINLET_ADAPTER_USE, "default");
    check(adapted_eval_loss(&run, s, 0) == trained, "the adapter's loss is %g, not %g", adapted_eval_loss(&run, s, 0),
          trained);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static void without_lora_there_is_none(const void *argument) {
  (void)argument;
  GoldenRun run;
  Arena arena = {0};
  Checkpoint c;
  TrainletSession *s = NULL;
  if (adapted_open_with_bias(&run, "mlp_momentum", NULL) && (s = golden_session(&run, NULL, 0))) {
    adapted_refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_ADD, "work"), "the session has no adapter");
    adapted_refuses(s, trainlet_session_adapter(s, TRAINLET_ADAPTER_USE, NULL), "the session has no adapter");
    adapted_refuses(s, trainlet_session_save(s, true, TRAINLET_FORMAT_ADAPTERS),
                    "no adapters that could be saved alone");
    check(!strstr(trainlet_session_json(s), "\"adapted\""), "adapters are described");
    if (adapted_read_saved(s, true, &arena, &c))
      check(!c.adapter && !c.adapter_count && !c.start_count, "it tells of adapters");
  }
  trainlet_session_free(s);
  arena_free(&arena);
  golden_run_close(&run);
}

int main(void) {
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
    test_run(edits[i].what, what_a_file_says_of_adapters_is_checked, &edits[i]);
  test_run("momentum", what_waits_comes_back, &momentum);
  test_run("biases that train", what_waits_comes_back, &biases);
  test_run("two moments", what_waits_comes_back, &moments_of_two);
  TEST(what_has_trained_stays_an_adapters);
  TEST(a_beginning_that_is_not_finite_is_of_outside);
  TEST(one_alone_is_told_by_its_name);
  TEST(each_has_its_own_values);
  TEST(what_is_not_finite_stays_with_its_adapter);
  TEST(memory_is_counted);
  TEST(another_begins_anew);
  TEST(frozen_matrices_are_packed_anew);
  TEST(without_lora_there_is_none);
  return test_finish();
}
