/* Losses: each with each of its options, and several together, beside what PyTorch's documentation says of them in
 * plain loops, and beside the slope of these loops. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "check.h"
#include "json.h"
#include "trainlet.h"

enum { EXAMPLES = 6, MOST = 2048, PARTS = 2 };
enum { OUT = 4, NO_CLASS = -100 };
enum { SEED_INPUT = 1, SEED_LABEL, SEED_TARGET, SEED_WEIGHT };

typedef enum Kind { CROSS_ENTROPY, MSE, BCE_WITH_LOGITS, L1, HUBER } Kind;
static const char *const kinds[] = {"cross-entropy", "mse", "bce-with-logits", "l1", "huber"};

/* Weights of examples. */
typedef enum Samples { ALIKE, BY_WEIGHT, OF_NO_WEIGHT } Samples;

typedef struct Loss {
  Kind kind;
  bool sum;
  bool weighted, forgets; /* classes have weights, of which the first one's is 0 */
  int ignored;            /* a label, 0 for none: the class OUT, or a number that stands for it among the labels */
  double smoothing, delta;
  Samples samples;
  const char *axis;
  const char *label; /* one of several: the name of its labels, and its weight */
  double weight;
} Loss;

typedef struct Net {
  const char *file;
  int type, rank; /* the input's */
  int64_t dims[2];
  const char *last_bias; /* added to the scores */
} Net;

static const Net mlp = {"mlp_small.onnx", 1, 2, {EXAMPLES, 20}, "fc3.bias"};
static const Net causal = {"causal.onnx", 7, 2, {EXAMPLES, 12}, NULL}; /* its scores are (N, 17, 12) */

typedef struct Case {
  const char *what;
  Loss loss[PARTS];
  int parts; /* number of losses */
  const Net *net;
  const char *scores; /* lossInputs */
} Case;

/* ---- what is fed ---- */

static double weight_of_class(const Loss *l, int c) {
  if (!l->weighted) return 1;
  return l->forgets && c == 0 ? 0 : 0.25 * (1 + c % 7);
}

static int label_at(const Loss *l, int i, int classes) {
  int class = (int)(batch_bits(SEED_LABEL, (size_t)i) % (uint32_t)classes);
  return class == OUT && l->ignored ? l->ignored : class;
}

/* Wide enough to lie on both sides of a delta; what BCE compares with is of 0 to 1. */
static float target_at(const Loss *l, int i) {
  size_t at = (size_t)i;
  return (float)(l->kind == BCE_WITH_LOGITS ? batch_unit(SEED_TARGET, at) : 3 * batch_signed(SEED_TARGET, at));
}

/* One example has none. */
static float sample_weight_at(const Loss *l, int i) {
  if (l->samples == ALIKE) return 1;
  return l->samples == OF_NO_WEIGHT || i == 2 ? 0 : (float)(2 * batch_unit(SEED_WEIGHT, (size_t)i));
}

/* ---- the formulas ---- */

/* (examples, classes, positions), or (examples, positions, classes) where classes are last. */
typedef struct Scores {
  int examples, classes, positions, rank;
  bool classes_last;
  int64_t dims[3]; /* original dims */
  double at[MOST];
} Scores;

static double score(const Scores *s, int example, int class, int position) {
  return s->classes_last ? s->at[(example * s->positions + position) * s->classes + class]
                         : s->at[(example * s->classes + class) * s->positions + position];
}

/* −log softmax */
static double surprise(const Scores *s, int example, int class, int position) {
  double sum = 0;
  for (int c = 0; c < s->classes; c++) sum += exp(score(s, example, c, position));
  return log(sum) - score(s, example, class, position);
}

/* (1−ε)·w[y]·l[y] + ε/C · Σ_c w[c]·l[c] */
static double loss_of_label(const Loss *l, const Scores *s, int example, int position, int label) {
  double spread = 0;
  for (int c = 0; c < s->classes; c++) spread += weight_of_class(l, c) * surprise(s, example, c, position);
  double own = weight_of_class(l, label) * surprise(s, example, label, position);
  return (1 - l->smoothing) * own + l->smoothing / s->classes * spread;
}

static double ratio(double sum, double total) { return total != 0 ? sum / total : 0; }

/* CrossEntropyLoss: a mean is over the weights of the labels that are not ignored. */
static double cross_entropy(const Loss *l, const Scores *s) {
  double sum = 0, total = 0;
  for (int i = 0; i < s->examples * s->positions; i++) {
    int label = label_at(l, i, s->classes);
    if (l->ignored && label == l->ignored) continue;
    double weight = sample_weight_at(l, i);
    sum += weight * loss_of_label(l, s, i / s->positions, i % s->positions, label);
    total += weight * weight_of_class(l, label);
  }
  return l->sum ? sum : ratio(sum, total);
}

static double loss_of_element(const Loss *l, double x, double target) {
  double far = fabs(x - target);
  switch (l->kind) {
    case MSE: return far * far;
    case BCE_WITH_LOGITS: return -target * log(1 / (1 + exp(-x))) - (1 - target) * log(1 - 1 / (1 + exp(-x)));
    case HUBER: return far <= l->delta ? 0.5 * far * far : l->delta * (far - 0.5 * l->delta);
    default: return far;
  }
}

/* Each example counts by what its elements are on average. */
static double of_elements(const Loss *l, const Scores *s) {
  int each = s->classes * s->positions;
  double sum = 0, total = 0;
  for (int i = 0; i < s->examples * each; i++)
    sum += sample_weight_at(l, i / each) * loss_of_element(l, s->at[i], target_at(l, i));
  for (int i = 0; i < s->examples; i++) total += each * sample_weight_at(l, i);
  return l->sum ? sum : ratio(sum, total);
}

static double loss_of(const Loss *l, const Scores *s) {
  return l->kind == CROSS_ENTROPY ? cross_entropy(l, s) : of_elements(l, s);
}

static double loss_of_all(const Case *c, const Scores *s) {
  if (!c->parts) return loss_of(&c->loss[0], s);
  double sum = 0;
  for (int i = 0; i < c->parts; i++) sum += c->loss[i].weight * loss_of(&c->loss[i], s);
  return sum;
}

/* The loss's slope as all scores of a class rise. */
static double slope(const Case *c, const Scores *s, int class) {
  enum { DOWN, UP };
  const double step = 1e-5;
  double loss[2];
  for (int way = DOWN; way <= UP; way++) {
    Scores moved = *s;
    for (int i = class; i < s->examples * s->classes; i += s->classes) moved.at[i] += way == UP ? step : -step;
    loss[way] = loss_of_all(c, &moved);
  }
  return (loss[UP] - loss[DOWN]) / (2 * step);
}

/* ---- the engine ---- */

static bool ok(TrainletSession *s, bool good) { return check(good, "%s", trainlet_session_error(s)->text); }

static bool feed_input(const Net *net, TrainletSession *s, TrainletPart part) {
  void *to = trainlet_session_feed(s, part, "input", net->type, net->rank, net->dims);
  if (!ok(s, to != NULL)) return false;
  for (size_t i = 0; i < (size_t)(net->dims[0] * net->dims[1]); i++)
    if (net->type == 7) ((int64_t *)to)[i] = batch_bits(SEED_INPUT, i) % 17;
    else ((float *)to)[i] = (float)batch_signed(SEED_INPUT, i);
  return true;
}

static bool feed_labels(const Loss *l, const Scores *scores, TrainletSession *s, TrainletPart part) {
  int64_t dims[2] = {scores->examples, scores->positions};
  int64_t *to = trainlet_session_feed(s, part, l->label ? l->label : "labels", 7, scores->rank - 1, dims);
  for (int i = 0; to && i < scores->examples * scores->positions; i++) to[i] = label_at(l, i, scores->classes);
  return ok(s, to != NULL);
}

static bool feed_target(const Loss *l, const Scores *scores, TrainletSession *s, TrainletPart part) {
  float *to = trainlet_session_feed(s, part, l->label ? l->label : "target", 1, scores->rank, scores->dims);
  for (int i = 0; to && i < scores->examples * scores->classes * scores->positions; i++) to[i] = target_at(l, i);
  return ok(s, to != NULL);
}

/* One a label, or one an example. */
static bool feed_sample_weights(const Loss *l, const Scores *scores, TrainletSession *s, TrainletPart part) {
  if (l->samples == ALIKE) return true;
  bool labels = l->kind == CROSS_ENTROPY;
  int64_t dims[2] = {scores->examples, scores->positions};
  float *to = trainlet_session_feed(s, part, "sample_weight", 1, labels ? scores->rank - 1 : 1, dims);
  for (int i = 0; to && i < scores->examples * (labels ? scores->positions : 1); i++) to[i] = sample_weight_at(l, i);
  return ok(s, to != NULL);
}

static bool feed(const Case *c, const Scores *scores, TrainletSession *s, TrainletPart part) {
  bool fed = feed_input(c->net, s, part);
  for (int i = 0; fed && (i == 0 || i < c->parts); i++) {
    const Loss *l = &c->loss[i];
    fed = (l->kind == CROSS_ENTROPY ? feed_labels : feed_target)(l, scores, s, part) &&
          feed_sample_weights(l, scores, s, part);
  }
  return fed;
}

static const void *model(const Net *net, Arena *arena, size_t *bytes) {
  char path[80];
  snprintf(path, sizeof path, "tests/golden/data/%s", net->file);
  const void *file = file_read(arena, path, bytes);
  return check(file != NULL, "%s cannot be read", path) ? file : NULL;
}

/* The model's first output, as an inference session gives it. */
static bool infer(const Case *c, Scores *to) {
  Arena arena = {0};
  size_t bytes;
  const void *file = model(c->net, &arena, &bytes);
  TrainletSession *s = trainlet_session_new();
  bool good = file && ok(s, trainlet_session_load(s, TRAINLET_MODEL, file, bytes) == STATUS_OK) &&
              ok(s, trainlet_session_ready(s) == STATUS_OK) && feed_input(c->net, s, TRAINLET_MODEL) &&
              ok(s, trainlet_session_run(s, TRAINLET_MODEL, NULL) == STATUS_OK);
  const TrainletTensor *t = good ? trainlet_session_output(s, 0) : NULL;
  good = t && check(t->type == 1 && t->rank >= 2 && t->rank <= 3 && t->count <= MOST, "scores of another kind");
  if (good) {
    int second = (int)t->dims[1], third = t->rank > 2 ? (int)t->dims[2] : 1;
    /* The loss is told to find the classes last: of this output, unless it is taken before a Transpose. */
    bool last = t->rank > 2 && c->loss[0].axis && strcmp(c->loss[0].axis, "-1") == 0 && !c->scores;
    *to = (Scores){(int)t->dims[0], last ? third : second, last ? second : third, t->rank, last, {0}, {0}};
    memcpy(to->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    for (size_t i = 0; i < t->count; i++) to->at[i] = ((const float *)t->data)[i];
  }
  trainlet_session_free(s);
  arena_free(&arena);
  return good;
}

typedef struct Options {
  TrainletArtifacts *artifacts;
  char prefix[16]; /* "loss." or "losses.0." */
  bool good;
} Options;

static void set(Options *o, const char *name, const char *value) {
  char key[40];
  snprintf(key, sizeof key, "%s%s", o->prefix, name);
  o->good &= check(trainlet_artifacts_set(o->artifacts, key, value) == STATUS_OK, "%s",
                   trainlet_artifacts_error(o->artifacts)->text);
}

static void set_number(Options *o, const char *name, double value) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", value);
  set(o, name, text);
}

static void set_weights(Options *o, const Loss *l, int classes) {
  char text[200];
  int at = 0;
  for (int c = 0; c < classes; c++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%g", c ? "," : "", weight_of_class(l, c));
  set(o, "weights", text);
}

static void set_loss(Options *o, const Loss *l, const Scores *scores) {
  set(o, "type", kinds[l->kind]);
  if (l->sum) set(o, "reduction", "sum");
  if (l->weighted) set_weights(o, l, scores->classes);
  if (l->ignored) set_number(o, "ignoreIndex", l->ignored);
  if (l->smoothing > 0) set_number(o, "labelSmoothing", l->smoothing);
  if (l->kind == HUBER && l->delta != 1) set_number(o, "delta", l->delta); /* 1 unless it is told */
  if (l->samples != ALIKE) set(o, "sampleWeights", "1");
  if (l->axis) set(o, "axis", l->axis);
  if (!l->label) return;
  set(o, "input", "logits");
  set(o, "label", l->label);
  set_number(o, "weight", l->weight);
}

static bool build(const Case *c, const Scores *scores, TrainletArtifacts *a) {
  Arena arena = {0};
  size_t bytes;
  const void *file = model(c->net, &arena, &bytes);
  Options o = {.artifacts = a, .prefix = "loss."};
  o.good = file && check(trainlet_artifacts_load(a, file, bytes) == STATUS_OK, "%s", trainlet_artifacts_error(a)->text);
  for (int i = 0; o.good && (i == 0 || i < c->parts); i++) {
    if (c->parts) snprintf(o.prefix, sizeof o.prefix, "losses.%d.", i);
    set_loss(&o, &c->loss[i], scores);
  }
  o.prefix[0] = 0;
  if (o.good && c->scores) set(&o, "lossInputs", c->scores);
  arena_free(&arena);
  return o.good && check(trainlet_artifacts_build(a) == STATUS_OK, "%s", trainlet_artifacts_error(a)->text);
}

static bool load(TrainletSession *s, const TrainletArtifacts *a) {
  bool good = true;
  for (TrainletPart part = TRAINLET_TRAIN; good && part <= TRAINLET_CHECKPOINT; part++) {
    size_t bytes;
    const void *data = trainlet_artifacts_bytes(a, part, &bytes);
    good = ok(s, trainlet_session_load(s, part, data, bytes) == STATUS_OK);
  }
  return good && ok(s, trainlet_session_ready(s) == STATUS_OK);
}

/* ---- both ---- */

static void compare(const char *what, double got, double want) {
  check(fabs(got - want) <= 1e-5 * fabs(want), "%s is %.9g, by the formula %.9g", what, got, want);
}

/* The loss of the run, and then each of several. */
static void compare_losses(const Case *c, const Scores *scores, const TrainletSession *s, const char *where) {
  for (int i = 0; i <= c->parts; i++) {
    const TrainletTensor *t = trainlet_session_output(s, i);
    char what[80];
    snprintf(what, sizeof what, "output %d of the %s", i, where);
    if (check(t && t->type == 1 && t->count == 1, "%s is no number", what))
      compare(what, *(const float *)t->data, i ? loss_of(&c->loss[i - 1], scores) : loss_of_all(c, scores));
  }
}

/* The last bias is added to each row of scores, so its gradient is that of the scores, added up. */
static void compare_slopes(const Case *c, const Scores *scores, TrainletSession *s) {
  int i = 0, count = trainlet_session_parameter_count(s);
  while (i < count && strcmp(trainlet_session_parameter(s, i).name, c->net->last_bias) != 0) i++;
  const float *gradient = i < count ? trainlet_session_gradient(s, i) : NULL;
  if (!check(gradient != NULL, "%s has no gradient", c->net->last_bias)) return;
  for (int k = 0; k < scores->classes; k++) {
    double want = slope(c, scores, k);
    check(fabs(gradient[k] - want) <= 1e-5 * (1 + fabs(want)), "the slope of class %d is %.9g, by the formula %.9g", k,
          (double)gradient[k], want);
  }
}

static void step(const Case *c, const Scores *scores, TrainletSession *s) {
  if (!feed(c, scores, s, TRAINLET_EVAL) || !ok(s, trainlet_session_run(s, TRAINLET_EVAL, NULL) == STATUS_OK)) return;
  compare_losses(c, scores, s, "eval model");
  if (!feed(c, scores, s, TRAINLET_TRAIN) || !ok(s, trainlet_session_run(s, TRAINLET_TRAIN, NULL) == STATUS_OK)) return;
  compare_losses(c, scores, s, "training model");
  compare("the loss", trainlet_session_loss(s), loss_of_all(c, scores));
  if (c->net->last_bias) compare_slopes(c, scores, s);
  ok(s, trainlet_session_optimize(s) == STATUS_OK);
}

static void the_loss_is_the_formula(const void *argument) {
  const Case *c = argument;
  static Scores scores;
  if (!infer(c, &scores)) return;
  TrainletArtifacts *a = trainlet_artifacts_new();
  TrainletSession *s = trainlet_session_new();
  if (build(c, &scores, a) && load(s, a)) step(c, &scores, s);
  trainlet_session_free(s);
  trainlet_artifacts_free(a);
}

#define LOGITS "/head/MatMul_output_0" /* (N, 12, 17), of which causal.onnx gives the Transpose */

static const Case cases[] = {
    {"cross-entropy", {{CROSS_ENTROPY}}},
    {"cross-entropy, a sum", {{CROSS_ENTROPY, .sum = true}}},
    {"cross-entropy, weights", {{CROSS_ENTROPY, .weighted = true}}},
    {"cross-entropy, weights, a sum", {{CROSS_ENTROPY, .weighted = true, .sum = true}}},
    {"cross-entropy, a weight of 0", {{CROSS_ENTROPY, .weighted = true, .forgets = true}}},
    {"cross-entropy, smoothing", {{CROSS_ENTROPY, .smoothing = 0.125}}},
    {"cross-entropy, smoothing alone", {{CROSS_ENTROPY, .smoothing = 1}}},
    {"cross-entropy, smoothing, a sum", {{CROSS_ENTROPY, .smoothing = 0.125, .sum = true}}},
    {"cross-entropy, smoothing, weights", {{CROSS_ENTROPY, .smoothing = 0.125, .weighted = true}}},
    {"cross-entropy, smoothing, weights, a sum", {{CROSS_ENTROPY, .smoothing = 0.125, .weighted = true, .sum = true}}},
    {"cross-entropy, smoothing, a weight of 0",
     {{CROSS_ENTROPY, .smoothing = 0.125, .weighted = true, .forgets = true}}},
    {"cross-entropy, a class ignored", {{CROSS_ENTROPY, .ignored = OUT}}},
    {"cross-entropy, a class ignored, a sum", {{CROSS_ENTROPY, .ignored = OUT, .sum = true}}},
    {"cross-entropy, a class ignored, weights", {{CROSS_ENTROPY, .ignored = OUT, .weighted = true}}},
    {"cross-entropy, labels of no class", {{CROSS_ENTROPY, .ignored = NO_CLASS}}},
    {"cross-entropy, labels of no class, weights", {{CROSS_ENTROPY, .ignored = NO_CLASS, .weighted = true}}},
    {"cross-entropy, labels of no class, smoothing, weights",
     {{CROSS_ENTROPY, .ignored = NO_CLASS, .smoothing = 0.125, .weighted = true}}},
    {"cross-entropy, labels of no class, sample weights", {{CROSS_ENTROPY, .ignored = NO_CLASS, .samples = BY_WEIGHT}}},
    {"cross-entropy, a class ignored, smoothing", {{CROSS_ENTROPY, .ignored = OUT, .smoothing = 0.125}}},
    {"cross-entropy, a class ignored, smoothing, weights",
     {{CROSS_ENTROPY, .ignored = OUT, .smoothing = 0.125, .weighted = true}}},
    {"cross-entropy, sample weights", {{CROSS_ENTROPY, .samples = BY_WEIGHT}}},
    {"cross-entropy, sample weights of 0", {{CROSS_ENTROPY, .samples = OF_NO_WEIGHT}}},
    {"cross-entropy, sample weights, a class ignored", {{CROSS_ENTROPY, .samples = BY_WEIGHT, .ignored = OUT}}},
    {"cross-entropy, sample weights, smoothing", {{CROSS_ENTROPY, .samples = BY_WEIGHT, .smoothing = 0.125}}},
    {"cross-entropy, sample weights, a class ignored, smoothing",
     {{CROSS_ENTROPY, .samples = BY_WEIGHT, .ignored = OUT, .smoothing = 0.125}}},
    {"cross-entropy, axis 1", {{CROSS_ENTROPY, .axis = "1", .weighted = true}}},
    {"cross-entropy, axis -1 of two", {{CROSS_ENTROPY, .axis = "-1", .weighted = true}}},
    {"mse", {{MSE}}},
    {"mse, a sum", {{MSE, .sum = true}}},
    {"mse, sample weights", {{MSE, .samples = BY_WEIGHT}}},
    {"mse, sample weights of 0", {{MSE, .samples = OF_NO_WEIGHT}}},
    {"bce-with-logits", {{BCE_WITH_LOGITS}}},
    {"bce-with-logits, a sum", {{BCE_WITH_LOGITS, .sum = true}}},
    {"bce-with-logits, sample weights", {{BCE_WITH_LOGITS, .samples = BY_WEIGHT}}},
    {"l1", {{L1}}},
    {"l1, a sum", {{L1, .sum = true}}},
    {"l1, sample weights", {{L1, .samples = BY_WEIGHT}}},
    {"huber", {{HUBER, .delta = 1}}},
    {"huber, a sum", {{HUBER, .delta = 1, .sum = true}}},
    {"huber, a delta", {{HUBER, .delta = 0.25}}},
    {"huber, a wide delta, a sum", {{HUBER, .delta = 100, .sum = true}}},
    {"huber, sample weights, a delta", {{HUBER, .delta = 1.5, .samples = BY_WEIGHT}}},
    {"two losses",
     {{CROSS_ENTROPY, .label = "kind", .weight = 0.25}, {MSE, .label = "height", .weight = 2}},
     .parts = 2},
    {"two losses with options",
     {{CROSS_ENTROPY, .label = "kind", .weight = 1, .smoothing = 0.125, .weighted = true, .ignored = OUT, .axis = "1"},
      {HUBER, .label = "height", .weight = 0.5, .delta = 0.5, .sum = true}},
     .parts = 2},
    {"two losses of which one weighs nothing",
     {{BCE_WITH_LOGITS, .label = "kind", .weight = 0}, {L1, .label = "height", .weight = 3}},
     .parts = 2},
    {"one of several", {{L1, .label = "height", .weight = 4}}, .parts = 1},
    {"of tokens", {{CROSS_ENTROPY}}, .net = &causal},
    {"of tokens, all options of labels",
     {{CROSS_ENTROPY, .weighted = true, .ignored = OUT, .smoothing = 0.125}},
     .net = &causal},
    {"of tokens, labels of no class", {{CROSS_ENTROPY, .ignored = NO_CLASS, .weighted = true}}, .net = &causal},
    {"of tokens, sample weights", {{CROSS_ENTROPY, .samples = BY_WEIGHT, .ignored = OUT}}, .net = &causal},
    {"of tokens, classes said to be last", {{CROSS_ENTROPY, .axis = "-1", .weighted = true}}, .net = &causal},
    {"of tokens, mse", {{MSE}}, .net = &causal},
    {"of tokens, mse, sample weights", {{MSE, .samples = BY_WEIGHT}}, .net = &causal},
    {"of tokens, classes last", {{CROSS_ENTROPY}}, .net = &causal, .scores = LOGITS},
    {"of tokens, classes last, as is said",
     {{CROSS_ENTROPY, .axis = "-1", .weighted = true, .smoothing = 0.125}},
     .net = &causal,
     .scores = LOGITS},
    {"of tokens, classes last, sample weights",
     {{CROSS_ENTROPY, .samples = BY_WEIGHT, .ignored = OUT}},
     .net = &causal,
     .scores = LOGITS},
};

/* All that compute something: "none" and "outside" take what is there. */
static void no_loss_is_left_out(const void *argument) {
  (void)argument;
  int count = sizeof kinds / sizeof *kinds, listed = 0;
  for (const char *name; (name = trainlet_loss_name(listed)); listed++)
    check(listed >= count || strcmp(name, kinds[listed]) == 0, "'%s' is not here", name);
  check(listed == count + 2, "there are %d losses, of which %d are here", listed, count);
}

int main(void) {
  TEST(no_loss_is_left_out);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Case c = cases[i];
    if (!c.net) c.net = &mlp;
    test_run(c.what, the_loss_is_the_formula, &c);
  }
  return test_finish();
}
