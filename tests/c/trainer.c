/* Trainers: they do what a session does on the same batches, to the bit, in no more memory than they say; what they
 * cannot do is refused with a sentence. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/crc32.h"
#include "compact/compact.h"
#include "golden_run.h"
#include "hostile.h"

enum { STEPS = 3, ROWS = 4, PLENTY = 64 << 20 };

/* ---- a network ---- */

typedef struct Net {
  GoldenRun run;
  Arena arena;
  void *file; /* compact */
  size_t bytes;
} Net;

/* The network's artifacts, with the part `without` left out, in one file. */
static bool net_compact(Net *net, int without) {
  TrainletSession *s = trainlet_session_new();
  bool ok = true;
  for (int part = TRAINLET_TRAIN; ok && part <= TRAINLET_CHECKPOINT; part++) {
    if (part == without) continue;
    const void *bytes = trainlet_artifacts_bytes(net->run.artifacts, (TrainletPart)part, &net->bytes);
    ok = golden_ok(s, trainlet_session_load(s, (TrainletPart)part, bytes, net->bytes), "load");
  }
  ok = ok && golden_ok(s, trainlet_session_compact(s, TRAINLET_WEIGHTS_EXACT), "compact");
  const void *file = trainlet_session_result(s, &net->bytes);
  free(net->file);
  net->file = ok ? memcpy(malloc(net->bytes), file, net->bytes) : NULL;
  trainlet_session_free(s);
  return ok;
}

static bool net_open(Net *net, const char *name) {
  *net = (Net){0};
  return golden_run_open(&net->run, name) && net_compact(net, -1);
}

static void net_close(Net *net) {
  free(net->file);
  arena_free(&net->arena);
  golden_run_close(&net->run);
}

static int batch_of(const Net *net) { return (int)json_number(net->run.recipe, "batch", 0); }

/* The dims that the training model leaves open, as the recipe's batches have them. */
static Status tell_dims(Net *net, TrainletSession *s, TrainletTrainer *t) {
  const Json *session = json_parse(&net->arena, arena_copy_text(&net->arena, trainlet_session_json(s)));
  for (const Json *in = json_get(json_get(session, "train"), "inputs")->child; in; in = in->next) {
    const Json *spec = json_get(net->run.recipe, strcmp(json_text(in, "name"), "labels") == 0 ? "label" : "input");
    const Json *fed = json_get(spec, "dims")->child;
    int64_t size = batch_of(net);
    for (const Json *d = json_get(in, "dims")->child; d; d = d->next) {
      bool open = d->text && *d->text;
      if (open) {
        Status status = trainlet_trainer_dim(t, d->text, size);
        if (status) return status;
      }
      size = fed ? (int64_t)fed->number : 0;
      fed = fed ? fed->next : NULL;
    }
  }
  return STATUS_OK;
}

static bool trainer_ok(const TrainletTrainer *t, Status status, const char *what) {
  return check(status == STATUS_OK, "%s: %s", what, trainlet_trainer_error(t)->text);
}

/* ---- the same as a session ---- */

/* The session's fed values stay where they may be fed again. */
static void copy_feed(const Net *net, TrainletSession *s, TrainletTrainer *t, const char *key) {
  const Json *spec = json_get(net->run.recipe, key);
  int64_t dims[8] = {batch_of(net)};
  int rank = 1, type = strcmp(json_text(spec, "type"), "int64") == 0 ? 7 : 1;
  for (const Json *d = json_get(spec, "dims")->child; d; d = d->next) dims[rank++] = (int64_t)d->number;
  size_t bytes, count = type == 7 ? 8 : 4;
  for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
  const char *name = json_text(spec, "name");
  const void *from = trainlet_session_feed(s, TRAINLET_TRAIN, name, type, rank, dims);
  void *to = trainlet_trainer_data(t, name, &bytes);
  if (check(to && bytes == count, "'%s' has %zu bytes, %zu come", name, bytes, count)) memcpy(to, from, count);
}

static void check_step(const Net *net, TrainletSession *s, TrainletTrainer *t, int step) {
  if (!golden_feed(&net->run, s, TRAINLET_TRAIN, step, 0)) return;
  copy_feed(net, s, t, "input");
  copy_feed(net, s, t, "label");
  golden_ok(s, trainlet_session_step(s), "the session's step");
  trainer_ok(t, trainlet_trainer_step(t), "the trainer's step");
  check(trainlet_session_loss(s) == trainlet_trainer_loss(t), "loss %d is %.9g, the trainer's %.9g", step,
        trainlet_session_loss(s), trainlet_trainer_loss(t));
}

static void check_parameters(TrainletSession *s, TrainletTrainer *t) {
  for (int i = 0; i < trainlet_session_parameter_count(s); i++) {
    TrainletTensor p = trainlet_session_parameter(s, i);
    size_t bytes;
    const void *data = trainlet_trainer_data(t, p.name, &bytes);
    check(data && bytes == p.bytes && memcmp(data, p.data, bytes) == 0, "parameter '%s' differs", p.name);
  }
}

/* The trainer's inputs lie at multiples of 64 bytes. */
static void check_plan(Net *net, TrainletSession *s, const TrainletTrainer *t) {
  const Json *session = json_parse(&net->arena, arena_copy_text(&net->arena, trainlet_session_json(s)));
  const Json *plan = json_get(session, "memory");
  double planned = (double)trainlet_trainer_plan_bytes(t), peak = json_number(plan, "peakBytes", 0);
  if (json_number(plan, "packedBytes", 0) != 0) return;
  check(planned >= peak && planned < peak + 2 * 64, "planned are %.0f bytes, the session's plan is %.0f", planned,
        peak);
}

/* The model's outputs beside the loss, such as its scores. */
static void check_outputs(TrainletSession *s, TrainletTrainer *t) {
  for (int i = 0; i < trainlet_session_output_count(s); i++) {
    const TrainletTensor *output = trainlet_session_output(s, i);
    size_t bytes;
    const void *data = trainlet_trainer_data(t, output->name, &bytes);
    check(data && bytes == output->bytes && memcmp(data, output->data, bytes) == 0, "output '%s' differs",
          output->name);
  }
}

static void trains_as_a_session(const void *name) {
  Net net;
  TrainletSession *s = net_open(&net, name) ? golden_session(&net.run, NULL, 0) : NULL;
  TrainletTrainer *t = s ? trainlet_trainer_new() : NULL;
  bool ok = t && trainer_ok(t, tell_dims(&net, s, t), "dim") &&
            trainer_ok(t, trainlet_trainer_load(t, net.file, net.bytes), "load");
  free(net.file);
  net.file = NULL; /* nothing of it is read any more */
  for (int step = 0; ok && step < STEPS; step++) check_step(&net, s, t, step);
  if (ok) check_parameters(s, t), check_outputs(s, t), check_plan(&net, s, t);
  trainlet_trainer_free(t);
  trainlet_session_free(s);
  net_close(&net);
}

/* A recipe with PyTorch's numbers; its name. */
static bool is_run(const char *file, char name[64]) {
  size_t length = strlen(file), bytes;
  if (length < 6 || length > 60 || strcmp(file + length - 5, ".json") != 0) return false;
  Arena arena = {0};
  char *text = file_read(&arena, arena_print(&arena, "tests/golden/data/%s", file), &bytes);
  Json *recipe = text ? json_parse(&arena, text) : NULL;
  bool is = recipe && json_get(recipe, "torch") && json_get(recipe, "model");
  arena_free(&arena);
  snprintf(name, 64, "%.*s", (int)length - 5, file);
  return is;
}

static void every_golden_network(void) {
  struct dirent **entries;
  int count = scandir("tests/golden/data", &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char name[64];
    if (is_run(entries[i]->d_name, name)) test_run(name, trains_as_a_session, name);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

/* ---- memory ---- */

static char *memory;

/* Trains in so many bytes, or fails. */
static Status train_in(const Net *net, size_t bytes, size_t *planned, Error *error) {
  check(trainlet_use_memory(memory, bytes), "the memory is not taken");
  TrainletTrainer *t = trainlet_trainer_new();
  Status status = t ? trainlet_trainer_dim(t, "N", ROWS) : STATUS_OUT_OF_MEMORY;
  if (!status) status = trainlet_trainer_load(t, net->file, net->bytes);
  size_t loaded = trainlet_memory_used();
  for (int i = 0; !status && i < 2; i++) status = trainlet_trainer_step(t);
  check(trainlet_memory_used() == loaded, "%zu bytes were used, after a step %zu", loaded, trainlet_memory_used());
  if (t) *planned = trainlet_trainer_plan_bytes(t);
  *error = t ? *trainlet_trainer_error(t) : (Error){.text = "no trainer"};
  trainlet_trainer_free(t);
  return status;
}

static void it_needs_what_it_says(const void *argument) {
  Net net;
  Error error;
  size_t planned;
  memory = malloc(PLENTY);
  if (net_open(&net, "mlp_momentum")) {
    golden_run_close(&net.run); /* memory may change only when nothing is made of it */
    net.run = (GoldenRun){0};
    check(train_in(&net, PLENTY, &planned, &error) == STATUS_OK, "%s", error.text);
    size_t used = trainlet_memory_used(), unused;
    test_note("%zu bytes, %zu more than planned", used, used - planned);
    check(used > planned, "%zu bytes, planned are %zu", used, planned);
    check(train_in(&net, used, &unused, &error) == STATUS_OK, "in %zu bytes: %s", used, error.text);
    for (size_t bytes = 64; bytes < used; bytes += used / 100 / 16 * 16) {
      Status status = train_in(&net, bytes, &unused, &error);
      check(status == STATUS_OUT_OF_MEMORY && *error.text, "in %zu bytes: %s '%s'", bytes, status_code(status),
            error.text);
    }
    check(train_in(&net, used - 16, &unused, &error) == STATUS_OUT_OF_MEMORY, "%zu bytes are enough", used - 16);
    trainlet_use_memory(NULL, 0);
  }
  net_close(&net);
  free(memory);
}

extern long memory_countdown __attribute__((weak)); /* only in builds with a sanitizer (arena.c) */
extern bool memory_counts_pieces __attribute__((weak));

/* Loads with the n-th piece of memory missing; false when there are fewer. */
static bool load_without(const Net *net, long n) {
  TrainletTrainer *t = trainlet_trainer_new();
  memory_countdown = n;
  Status status = trainlet_trainer_dim(t, "N", ROWS);
  if (!status) status = trainlet_trainer_load(t, net->file, net->bytes);
  bool missed = memory_countdown == 0;
  memory_countdown = 0;
  const char *text = trainlet_trainer_error(t)->text;
  check(status == (missed ? STATUS_OUT_OF_MEMORY : STATUS_OK), "without piece %ld: %s '%s'", n, status_code(status),
        text);
  check(!missed || *text, "without piece %ld: no sentence", n);
  trainlet_trainer_free(t);
  return missed;
}

static void any_piece_may_be_missing(const void *argument) {
  Net net;
  long n = 1;
  if (!&memory_countdown) return;
  if (net_open(&net, "mlp_momentum")) {
    memory_counts_pieces = true;
    while (load_without(&net, n)) n++;
    memory_counts_pieces = false;
    test_note("%ld pieces", n - 1);
    check(n > 100, "only %ld pieces", n - 1);
  }
  net_close(&net);
}

/* ---- bytes from outside ---- */

enum { LITTLE = 2 << 20 };

/* In little memory, so that a step is never much work. */
static bool train_on(const uint8_t *bytes, size_t count) {
  check(trainlet_use_memory(memory, LITTLE), "the memory is not taken");
  TrainletTrainer *t = trainlet_trainer_new();
  Status status = trainlet_trainer_dim(t, "N", ROWS);
  if (!status) status = trainlet_trainer_load(t, bytes, count);
  if (!status) status = trainlet_trainer_step(t);
  const Error *error = trainlet_trainer_error(t);
  check(status == error->status && (!status || *error->text), "status %d without its sentence", status);
  check(status != STATUS_INTERNAL, "the engine's own fault: %s", error->text);
  trainlet_trainer_free(t);
  return status != STATUS_OK;
}

/* Mends the checksum, so that it is no wall. */
static bool train_on_mended(const uint8_t *bytes, size_t count) {
  if (count < sizeof(CompactHead)) return train_on(bytes, count);
  uint8_t *copy = memcpy(malloc(count), bytes, count);
  uint32_t checksum = crc32_of(copy + COMPACT_CHECKED, count - COMPACT_CHECKED);
  memcpy(copy + offsetof(CompactHead, checksum), &checksum, sizeof checksum);
  bool refused = train_on(copy, count);
  free(copy);
  return refused;
}

static void hostile_bytes_are_refused(const void *argument) {
  Net net;
  memory = malloc(LITTLE);
  if (net_open(&net, "mlp_frozen")) {
    golden_run_close(&net.run); /* memory may change only when nothing is made of it */
    net.run = (GoldenRun){0};
    hostile_try(net.file, net.bytes, train_on_mended);
    trainlet_use_memory(NULL, 0);
  }
  net_close(&net);
  free(memory);
}

/* ---- what is refused ---- */

static void check_refused(const TrainletTrainer *t, Status status, Status wanted, const char *sentence) {
  const char *text = trainlet_trainer_error(t)->text;
  check(status == wanted && strstr(text, sentence), "%s '%s' instead of '%s'", status_code(status), text, sentence);
}

static TrainletTrainer *told(const char *dim, int64_t size) {
  TrainletTrainer *t = trainlet_trainer_new();
  if (dim) trainer_ok(t, trainlet_trainer_dim(t, dim, size), "dim");
  return t;
}

static void refuses_files(const Net *net) {
  TrainletTrainer *t = told(NULL, 0);
  check_refused(t, trainlet_trainer_load(t, net->file, net->bytes), STATUS_INVALID_ARGUMENT,
                "takes any size along 'N', and the trainer was told none");
  check_refused(t, trainlet_trainer_load(t, net->file, net->bytes), STATUS_INVALID_ARGUMENT, "made of one file");
  check_refused(t, trainlet_trainer_dim(t, "N", 1), STATUS_INVALID_ARGUMENT, "the file is loaded");
  check_refused(t, trainlet_trainer_step(t), STATUS_INVALID_ARGUMENT, "the trainer has no file");
  trainlet_trainer_free(t);
  t = told("N", ROWS);
  check_refused(t, trainlet_trainer_dim(t, "N", -1), STATUS_INVALID_ARGUMENT, "the dim 'N' cannot be -1");
  trainer_ok(t, trainlet_trainer_dim(t, "rows", 2), "dim");
  check_refused(t, trainlet_trainer_load(t, net->file, net->bytes), STATUS_INVALID_ARGUMENT,
                "no input of the model leaves a dim 'rows' open");
  trainlet_trainer_free(t);
  for (size_t count = 0; count < net->bytes; count += net->bytes / 20) {
    t = told("N", ROWS);
    Status status = trainlet_trainer_load(t, net->file, count);
    check(status == STATUS_INVALID_MODEL && *trainlet_trainer_error(t)->text, "%zu bytes of %zu: %s", count, net->bytes,
          status_code(status));
    trainlet_trainer_free(t);
  }
}

/* The same network with another option of its artifacts, or without a part. */
static void refuses_artifacts(Net *net, const char *key, const char *value, int without, const char *sentence) {
  bool ok = !key || (trainlet_artifacts_set(net->run.artifacts, key, value) == STATUS_OK &&
                     trainlet_artifacts_build(net->run.artifacts) == STATUS_OK);
  if (!check(ok, "%s: %s", key, trainlet_artifacts_error(net->run.artifacts)->text)) return;
  if (!net_compact(net, without)) return;
  TrainletTrainer *t = told("N", ROWS);
  check_refused(t, trainlet_trainer_load(t, net->file, net->bytes), STATUS_INVALID_ARGUMENT, sentence);
  trainlet_trainer_free(t);
}

static void refuses_batches(const Net *net) {
  enum { SECOND = 1 };
  TrainletTrainer *t = told("N", ROWS);
  if (!trainer_ok(t, trainlet_trainer_load(t, net->file, net->bytes), "load")) return trainlet_trainer_free(t);
  size_t bytes, input_bytes, weight_bytes;
  int64_t *labels = trainlet_trainer_data(t, "labels", &bytes);
  float *x = trainlet_trainer_data(t, "input", &input_bytes),
        *w = trainlet_trainer_data(t, "fc1.weight", &weight_bytes);
  if (check(labels && x && w && bytes == ROWS * sizeof *labels, "labels of %zu bytes", bytes)) {
    float *before = memcpy(malloc(weight_bytes), w, weight_bytes);
    labels[SECOND] = 1000;
    check_refused(t, trainlet_trainer_step(t), STATUS_INVALID_FEED, "the labels 'labels' have 1000 in row 1");
    labels[SECOND] = 0;
    x[0] = NAN;
    check_refused(t, trainlet_trainer_step(t), STATUS_NON_FINITE_LOSS, "the loss is NaN");
    check(memcmp(before, w, weight_bytes) == 0, "a parameter has changed");
    for (size_t i = 0; i < input_bytes / sizeof *x; i++) x[i] = 1;
    trainer_ok(t, trainlet_trainer_step(t), "the next step");
    check(memcmp(before, w, weight_bytes) != 0, "no parameter has changed");
    free(before);
  }
  check(!trainlet_trainer_data(t, "nothing", &bytes) && bytes == 0, "there is no 'nothing'");
  trainlet_trainer_free(t);
}

/* Plain SGD takes no step at a rate of 0. */
static void steps_at_its_rate(const void *argument) {
  Net net;
  size_t bytes;
  if (net_open(&net, "w1")) {
    TrainletTrainer *t = told("N", ROWS);
    float *w = trainer_ok(t, trainlet_trainer_load(t, net.file, net.bytes), "load")
                 ? trainlet_trainer_data(t, "fc1.bias", &bytes)
                 : NULL;
    if (check(w != NULL, "there is no fc1.bias")) {
      float *before = memcpy(malloc(bytes), w, bytes);
      trainlet_trainer_set_lr(t, 0);
      trainer_ok(t, trainlet_trainer_step(t), "a step");
      check(memcmp(before, w, bytes) == 0, "a parameter has changed");
      trainlet_trainer_set_lr(t, 0.1);
      trainer_ok(t, trainlet_trainer_step(t), "a step");
      check(memcmp(before, w, bytes) != 0, "no parameter has changed");
      free(before);
    }
    trainlet_trainer_free(t);
  }
  net_close(&net);
}

static void refuses(const void *argument) {
  Net net;
  if (net_open(&net, "mlp_momentum")) {
    refuses_files(&net);
    refuses_batches(&net);
    refuses_artifacts(&net, NULL, NULL, TRAINLET_OPTIMIZER, "has no optimizer");
    refuses_artifacts(&net, "nominal", "1", -1, "is nominal");
    check(trainlet_artifacts_set(net.run.artifacts, "nominal", "0") == STATUS_OK, "nominal stays");
    refuses_artifacts(&net, "loss.type", "outside", -1, "takes gradients from outside");
  }
  net_close(&net);
}

int main(void) {
  every_golden_network();
  TEST(it_needs_what_it_says);
  TEST(any_piece_may_be_missing);
  TEST(steps_at_its_rate);
  TEST(refuses);
  TEST(hostile_bytes_are_refused);
  return test_finish();
}
