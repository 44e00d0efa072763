/* Fine-tuning, natively: LoRA with each of its options, frozen weights in fewer bits, and inputs that are constants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

enum { OPTIONS = 5, FEW = 4, STEPS = 3 };

typedef struct Options {
  const char *pair[OPTIONS][2];
} Options;

/* The recipe `name` with other options, built anew. */
static bool open_run(GoldenRun *run, const char *name, const Options *o) {
  if (!golden_run_open(run, name)) return false;
  for (int i = 0; o && i < OPTIONS && o->pair[i][0]; i++) {
    Status status = trainlet_artifacts_set(run->artifacts, o->pair[i][0], o->pair[i][1]);
    if (!check(status == STATUS_OK, "%s", trainlet_artifacts_error(run->artifacts)->text)) return false;
  }
  Status built = trainlet_artifacts_build(run->artifacts);
  return check(built == STATUS_OK, "%s", trainlet_artifacts_error(run->artifacts)->text);
}

static bool steps(const GoldenRun *run, TrainletSession *s, int from) {
  bool ok = true;
  for (int step = from; ok && step < from + STEPS; step++)
    ok = golden_feed(run, s, TRAINLET_TRAIN, step, FEW) && golden_ok(s, trainlet_session_step(s), "a step");
  return ok;
}

static double eval_loss(const GoldenRun *run, TrainletSession *s) {
  bool ok = golden_feed(run, s, TRAINLET_EVAL, 0, FEW) &&
            golden_ok(s, trainlet_session_run(s, TRAINLET_EVAL, NULL), "evaluating");
  return ok ? (double)*(const float *)trainlet_session_output(s, 0)->data : NAN;
}

/* Saved sessions go on to the same bits. */
static void check_goes_on(const GoldenRun *run, TrainletSession *s) {
  size_t bytes, count = trainlet_session_element_count(s, TRAINLET_ALL);
  if (!golden_ok(s, trainlet_session_save(s, true, TRAINLET_FORMAT_TRAINLET), "saving")) return;
  const void *file = trainlet_session_result(s, &bytes);
  TrainletSession *later = golden_session(run, file, bytes);
  float *x = malloc((count + 1) * sizeof *x), *y = malloc((count + 1) * sizeof *y);
  if (later && x && y && steps(run, s, STEPS) && steps(run, later, STEPS)) {
    trainlet_session_copy_out(s, TRAINLET_ALL, x);
    trainlet_session_copy_out(later, TRAINLET_ALL, y);
    check(memcmp(x, y, count * sizeof *x) == 0, "a session that goes on differs");
  }
  free(x), free(y);
  trainlet_session_free(later);
}

/* A session on the model that s exports. */
static TrainletSession *exported(TrainletSession *s, int form) {
  size_t bytes;
  if (!golden_ok(s, trainlet_session_export(s, NULL, (TrainletExport)form), "exporting")) return NULL;
  const void *file = trainlet_session_result(s, &bytes);
  TrainletSession *other = trainlet_session_new();
  bool ok = golden_ok(other, trainlet_session_load(other, TRAINLET_MODEL, file, bytes), "loading an export") &&
            golden_ok(other, trainlet_session_ready(other), "an export");
  return ok ? other : (trainlet_session_free(other), NULL);
}

static const TrainletTensor *scores(const GoldenRun *run, TrainletSession *s) {
  bool ok = golden_feed_input(run, s, TRAINLET_MODEL) &&
            golden_ok(s, trainlet_session_run(s, TRAINLET_MODEL, NULL), "running an export");
  return ok ? trainlet_session_output(s, 0) : NULL;
}

/* ---- LoRA ---- */

/* `trains`: as many numbers as PEFT trains of these layers: r · (in + out), of a convolution r · (in · kernel + out).
 */
typedef struct LoraRow {
  const char *what, *network;
  Options options;
  size_t trains;
} LoraRow;

static const LoraRow lora_rows[] = {
    {"all linear but the last", "mlp_momentum", {{{"lora.r", "2"}}}, 2 * (20 + 33) + 2 * (33 + 17)},
    {"a layer's own rank and alpha",
     "mlp_momentum",
     {{{"lora.r", "2"}, {"lora.rankPattern", "fc1=3"}, {"lora.alphaPattern", "fc2=12"}}},
     3 * (20 + 33) + 2 * (33 + 17)},
    {"named layers without one",
     "mlp_momentum",
     {{{"lora.r", "4"}, {"lora.targets", "all-linear"}, {"lora.targets", "fc3"}, {"lora.exclude", "fc1"}}},
     4 * (33 + 17) + 4 * (17 + 5)},
    {"all biases",
     "mlp_momentum",
     {{{"lora.r", "2"}, {"lora.bias", "all"}, {"lora.rsLora", "1"}}},
     2 * (20 + 33) + 2 * (33 + 17) + 33 + 17 + 5},
    {"biases of adapted layers",
     "mlp_momentum",
     {{{"lora.r", "2"}, {"lora.bias", "lora_only"}, {"lora.init", "gaussian"}, {"lora.alpha", "5"}}},
     2 * (20 + 33) + 2 * (33 + 17) + 33 + 17},
    {"a layer saved whole",
     "mlp_momentum",
     {{{"lora.r", "2"}, {"lora.modulesToSave", "fc3"}, {"lora.dropout", "0.25"}}},
     2 * (20 + 33) + 2 * (33 + 17) + 5 * 17 + 5},
    {"an embedding and a layer",
     "tokens",
     {{{"lora.r", "2"}, {"lora.targets", "embedding"}, {"lora.targets", "dense"}}},
     2 * (31 + 12) + 2 * (12 + 10)},
    {"an embedding, with dropout elsewhere",
     "causal",
     {{{"lora.r", "2"}, {"lora.targets", "wte"}, {"lora.targets", "c_*"}, {"lora.dropout", "0.1"}}},
     2 * (17 + 16) + 2 * (16 + 48) + 2 * (16 + 16) + 2 * (16 + 64) + 2 * (64 + 16)},
    {"products of (in, out)", "decoder", {{{"lora.r", "3"}, {"lora.targets", "*"}, {"lora.exclude", "embedding"}}}, 0},
    {"convolutions", "unet_sgd", {{{"lora.r", "2"}, {"lora.targets", "*"}, {"lora.alpha", "2"}}}, 0},
};

/* An export with the adapters in the weights gives the scores of one that has them apart. */
static void check_merged(const GoldenRun *run, TrainletSession *s) {
  TrainletSession *apart = exported(s, TRAINLET_EXPORT_MODEL), *merged = exported(s, TRAINLET_EXPORT_MERGED),
                  *inputs = exported(s, TRAINLET_EXPORT_TYPES | TRAINLET_EXPORT_ADAPTER_INPUTS);
  const TrainletTensor *a = apart ? scores(run, apart) : NULL, *b = merged ? scores(run, merged) : NULL;
  if (a && b && check(a->count == b->count, "the exports give other shapes"))
    for (size_t i = 0; i < a->count; i++) {
      double x = (double)((const float *)a->data)[i], y = (double)((const float *)b->data)[i];
      if (!check(fabs(x - y) <= 1e-4 * (1 + fabs(x)), "score %zu is %g merged, %g apart", i, y, x)) break;
    }
  if (inputs) check(strstr(trainlet_session_json(inputs), ".lora_"), "the export has no inputs for adapters");
  trainlet_session_free(apart), trainlet_session_free(merged), trainlet_session_free(inputs);
}

static void lora_learns(const void *argument) {
  const LoraRow *row = argument;
  GoldenRun run;
  TrainletSession *s = NULL;
  if (open_run(&run, row->network, &row->options) && (s = golden_session(&run, NULL, 0))) {
    size_t trains = trainlet_session_element_count(s, TRAINLET_TRAINABLE);
    check(row->trains ? trains == row->trains : trains > 0, "%zu numbers train, not %zu", trains, row->trains);
    double before = eval_loss(&run, s);
    if (steps(&run, s, 0)) {
      check(isfinite(before) && before != eval_loss(&run, s), "three steps leave the loss at %g", before);
      check_merged(&run, s);
      check_goes_on(&run, s);
    }
    check(trainlet_artifacts_modules(run.artifacts) != NULL, "%s", trainlet_artifacts_error(run.artifacts)->text);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
}

static const struct {
  const char *words;
  Options options;
} lora_refused[] = {
    {"matches no module that can be adapted; these are fc1, fc2, fc3", {{{"lora.targets", "fc9"}}}},
    {"lora.modulesToSave: 'fc9' matches no module", {{{"lora.r", "2"}, {"lora.modulesToSave", "fc9"}}}},
};

static void lora_that_fits_nothing_is_refused(const void *argument) {
  (void)argument;
  for (size_t i = 0; i < sizeof lora_refused / sizeof *lora_refused; i++) {
    GoldenRun run;
    if (!golden_run_open(&run, "mlp_momentum")) return;
    for (int k = 0; k < OPTIONS && lora_refused[i].options.pair[k][0]; k++)
      trainlet_artifacts_set(run.artifacts, lora_refused[i].options.pair[k][0], lora_refused[i].options.pair[k][1]);
    Status status = trainlet_artifacts_build(run.artifacts);
    const char *text = trainlet_artifacts_error(run.artifacts)->text;
    check(status != STATUS_OK && strstr(text, lora_refused[i].words), "'%s'", text);
    golden_run_close(&run);
  }
}

/* ---- frozen weights in fewer bits ---- */

static const struct Kind {
  const char *name, *end; /* suffix of names that replace a weight's */
  double bound;           /* relative change of the loss */
} kinds[] = {{"float16", "_float16", 2e-3}, {"int8", "_quantized", 3e-2}, {"int4", "_Q4", 2e-1}};

typedef struct FrozenRow {
  const char *what, *network;
  Options options; /* both sessions'; quantizeFrozen is added */
  bool table;      /* only look-ups read what is frozen, which are of int8 even with int4 */
} FrozenRow;

static const FrozenRow frozen_rows[] = {
    {"below a last layer", "mlp_momentum", {{{"requiresGrad", "fc3.*"}}}, false},
    {"below adapters", "causal", {{{"lora.r", "2"}, {"lora.targets", "c_*"}}}, false},
    {"of (in, out)", "decoder", {{{"requiresGrad", "head"}}}, false},
    {"below an embedding's adapter", "causal", {{{"lora.r", "2"}, {"lora.targets", "wte"}}}, false},
    {"a table", "tokens", {{{"requiresGrad", "fc.*"}, {"requiresGrad", "dense.*"}}}, true},
};

static double loss_of(const FrozenRow *row, const struct Kind *kind) {
  Options o = row->options;
  GoldenRun run;
  TrainletSession *s = NULL;
  double loss = NAN;
  int at = 0;
  while (o.pair[at][0]) at++;
  if (kind) o.pair[at][0] = "quantizeFrozen", o.pair[at][1] = kind->name;
  if (open_run(&run, row->network, &o) && (s = golden_session(&run, NULL, 0))) {
    loss = eval_loss(&run, s);
    bool int4 = kind && strcmp(kind->name, "int4") == 0;
    const char *end = !kind ? NULL : int4 && row->table ? "_quantized" : kind->end, *text = trainlet_session_json(s);
    if (end) check(text && strstr(text, end), "%s: no parameter's name ends in %s", kind->name, end);
    if (steps(&run, s, 0)) check_goes_on(&run, s);
    TrainletSession *out = exported(s, TRAINLET_EXPORT_MODEL);
    if (out) check(scores(&run, out) != NULL, "no scores");
    trainlet_session_free(out);
  }
  trainlet_session_free(s);
  golden_run_close(&run);
  return loss;
}

static void frozen_weights_of_fewer_bits(const void *argument) {
  const FrozenRow *row = argument;
  double plain = loss_of(row, NULL);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    double loss = loss_of(row, &kinds[i]);
    check(loss != plain && fabs(loss - plain) <= kinds[i].bound * plain, "%s: the loss is %g, plain %g", kinds[i].name,
          loss, plain);
  }
}

/* ---- inputs that are constants ---- */

enum { EXAMPLES = 16, FEATURES = 20 };

static void fill(float *x) {
  for (int i = 0; i < EXAMPLES * FEATURES; i++) x[i] = (float)(i * 37 % 101) / 50 - 1;
}

static void fill_labels(TrainletSession *s) {
  int64_t count = EXAMPLES, *labels = trainlet_session_feed(s, TRAINLET_TRAIN, "labels", 7, 1, &count);
  for (int i = 0; labels && i < EXAMPLES; i++) labels[i] = i % 5;
}

static const int64_t dims[] = {EXAMPLES, FEATURES};

/* Loads the artifacts once the session knows its constants. */
static Status open_parts(const GoldenRun *run, TrainletSession *s) {
  Status status = STATUS_OK;
  for (int part = TRAINLET_TRAIN; status == STATUS_OK && part <= TRAINLET_CHECKPOINT; part++) {
    size_t bytes;
    const void *file = trainlet_artifacts_bytes(run->artifacts, (TrainletPart)part, &bytes);
    status = trainlet_session_load(s, (TrainletPart)part, file, bytes);
  }
  return status == STATUS_OK ? trainlet_session_ready(s) : status;
}

static double step_loss(TrainletSession *s) {
  fill_labels(s);
  return golden_ok(s, trainlet_session_step(s), "a step") ? trainlet_session_loss(s) : NAN;
}

static void a_constant_is_what_would_be_fed(const void *argument) {
  (void)argument;
  GoldenRun run;
  if (!golden_run_open(&run, "mlp_momentum")) return;
  TrainletSession *fed = trainlet_session_new(), *pinned = trainlet_session_new();
  float *x = trainlet_session_constant(pinned, "input", 1, 2, dims);
  if (check(x != NULL, "%s", trainlet_session_error(pinned)->text)) fill(x);
  if (golden_ok(fed, open_parts(&run, fed), "fed") && golden_ok(pinned, open_parts(&run, pinned), "pinned"))
    for (int step = 0; step < STEPS; step++) {
      float *to = trainlet_session_feed(fed, TRAINLET_TRAIN, "input", 1, 2, dims);
      if (to) fill(to);
      double a = step_loss(fed), b = step_loss(pinned);
      check(isfinite(a) && a == b, "step %d: the loss is %.9g fed, %.9g pinned", step, a, b);
    }
  trainlet_session_free(fed), trainlet_session_free(pinned);
  golden_run_close(&run);
}

/* The artifacts are made with it, and have no such input. */
static void a_constant_of_the_artifacts(const void *argument) {
  (void)argument;
  Arena arena = {0};
  size_t bytes;
  const void *model = file_read(&arena, "tests/golden/data/mlp_small.onnx", &bytes);
  TrainletArtifacts *a = trainlet_artifacts_new();
  float *x = trainlet_artifacts_constant(a, "input", 1, 2, dims);
  if (x) fill(x);
  bool ok = x && trainlet_artifacts_load(a, model, bytes) == STATUS_OK && trainlet_artifacts_build(a) == STATUS_OK;
  GoldenRun run = {.artifacts = a};
  TrainletSession *s = trainlet_session_new();
  if (check(ok, "%s", trainlet_artifacts_error(a)->text) && golden_ok(s, open_parts(&run, s), "ready")) {
    check(!trainlet_session_feed(s, TRAINLET_TRAIN, "input", 1, 2, dims), "a constant may be fed");
    check(isfinite(step_loss(s)), "no loss");
  }
  trainlet_session_free(s);
  trainlet_artifacts_free(a);
  arena_free(&arena);
}

typedef struct WrongConstant {
  const char *what, *name, *words;
  int type, rank;
  int64_t dims[3];
} WrongConstant;

static const WrongConstant wrong[] = {
    {"another type", "input", "not int64", 7, 2, {EXAMPLES, FEATURES}},
    {"another shape", "input", "not float32 (16, 21)", 1, 2, {EXAMPLES, FEATURES + 1}},
    {"another rank", "input", "not float32 (20)", 1, 1, {FEATURES}},
    {"of nobody", "nowhere", "there is no input 'nowhere'", 1, 1, {2}},
    {"strings", "input", "has no such type or shape", 8, 1, {2}},
    {"of no type", "input", "has no such type or shape", 99, 1, {2}},
    {"below 0", "input", "has no such type or shape", 1, 1, {-2}},
    {"of no rank", "input", "has no such type or shape", 1, -1, {0}},
    {"too many", "input", "has no such type or shape", 1, 3, {INT64_MAX / 2, INT64_MAX / 2, 4}},
};

static void a_wrong_constant_is_refused(const void *argument) {
  const WrongConstant *w = argument;
  GoldenRun run;
  if (!golden_run_open(&run, "mlp_momentum")) return;
  TrainletSession *s = trainlet_session_new();
  bool made = trainlet_session_constant(s, w->name, w->type, w->rank, w->dims) != NULL;
  Status status = made ? open_parts(&run, s) : STATUS_INVALID_ARGUMENT;
  check(status != STATUS_OK && strstr(trainlet_session_error(s)->text, w->words), "'%s'",
        trainlet_session_error(s)->text);
  trainlet_session_free(s);
  golden_run_close(&run);
}

int main(void) {
  for (size_t i = 0; i < sizeof lora_rows / sizeof *lora_rows; i++)
    test_run(lora_rows[i].what, lora_learns, &lora_rows[i]);
  TEST(lora_that_fits_nothing_is_refused);
  for (size_t i = 0; i < sizeof frozen_rows / sizeof *frozen_rows; i++)
    test_run(frozen_rows[i].what, frozen_weights_of_fewer_bits, &frozen_rows[i]);
  TEST(a_constant_is_what_would_be_fed);
  TEST(a_constant_of_the_artifacts);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    test_run(wrong[i].what, a_wrong_constant_is_refused, &wrong[i]);
  return test_finish();
}
