/* Options of artifacts: each wrong one is one sentence that names it, after which a right one is taken; and what the
 * right ones bring. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

enum { PAIRS = 3 };
typedef struct Wrong {
  const char *words; /* of the sentence */
  const char *options[PAIRS][2];
} Wrong;

static const Wrong refused[] = {
    {"cross-entropy, mse", {{"loss.type", "hinge"}}},
    {"mean or sum", {{"loss.reduction", "max"}}},
    {"numbers joined by commas", {{"loss.weights", "1,,2"}}},
    {"numbers joined by commas", {{"loss.weights", ""}}},
    {"a whole number", {{"loss.ignoreIndex", "1.5"}}},
    {"a number from 0 to 1", {{"loss.labelSmoothing", "1.1"}}},
    {"a number from 0 to 1", {{"loss.labelSmoothing", "nan"}}},
    {"loss mse: labelSmoothing is of cross-entropy", {{"loss.type", "mse"}, {"loss.labelSmoothing", "0.1"}}},
    {"'yes' is not 0 or 1", {{"loss.sampleWeights", "yes"}}},
    {"loss none: sampleWeights need", {{"loss.type", "none"}, {"loss.sampleWeights", "1"}}},
    {"reduction cannot be sum", {{"loss.sampleWeights", "1"}, {"loss.reduction", "sum"}}},
    {"give those of classes to fit", {{"loss.sampleWeights", "1"}, {"loss.weights", "1,1,1,1,1"}}},
    {"one of several losses has none", {{"losses.0.sampleWeights", "1"}}},
    {"a number above 0", {{"loss.delta", "0"}}},
    {"a number above 0", {{"loss.delta", "nan"}}},
    {"no option 'loss.colour'", {{"loss.colour", "red"}}},
    {"no option 'colour'", {{"colour", "red"}}},
    {"no option 'optimizer.colour'", {{"optimizer.colour", "red"}}},
    {"adamw, adam, adagrad, rmsprop or sgd", {{"optimizer.type", "lion"}}},
    {"a number of at least 0", {{"optimizer.lr", "-1"}}},
    {"a number of at least 0", {{"optimizer.lr", "nan"}}},
    {"numbers of at least 0 and below 1, 2 joined", {{"optimizer.betas", "1,0.999"}}},
    {"numbers of at least 0 and below 1, 2 joined", {{"optimizer.betas", "0.9"}}},
    {"numbers of at least 0 and below 1, 2 joined", {{"optimizer.betas", "0.9,0.99,0.999"}}},
    {"'1' is not a number of at least 0 and below 1", {{"optimizer.type", "sgd"}, {"optimizer.momentum", "1"}}},
    {"a number of at least 0", {{"optimizer.eps", "1e"}}},
    {"a number of at least 0", {{"optimizer.lr", "inf"}}},
    {"numbers of at least 0 and below 1, 2 joined", {{"optimizer.betas", "0.9,0.99999999"}}},
    {"'nan' is not a number", {{"optimizer.type", "sgd"}, {"optimizer.dampening", "nan"}}},
    {"0 or 1", {{"nominal", "yes"}}},
    {"0 or 1", {{"optimizer.type", "sgd"}, {"optimizer.nesterov", "2"}}},
    {"adamw has no such option; it has type, lr, betas, eps, weightDecay, clipGradNorm",
     {{"optimizer.momentum", "0.9"}}},
    {"adam has no such option", {{"optimizer.type", "adam"}, {"optimizer.alpha", "0.9"}}},
    {"sgd has no such option; it has type, lr, weightDecay, momentum, dampening, nesterov, clipGradNorm",
     {{"optimizer.type", "sgd"}, {"optimizer.betas", "0.9,0.99"}}},
    {"names of passes", {{"passes", "gelu,speed"}}},
    {"'yes' is not 0 or 1", {{"untie", "yes"}}},
    {"'thawed' is not frozen or update", {{"batchNorm", "thawed"}}},
    {"'int2' is not int8, int4 or float16", {{"quantizeFrozen", "int2"}}},
    {"no frozen float32 weight", {{"quantizeFrozen", "int8"}}},
    {"leave nominal out", {{"quantizeFrozen", "int8"}, {"nominal", "1"}}},
    {"needs optimizer.momentum", {{"optimizer.type", "sgd"}, {"optimizer.nesterov", "1"}}},
    {"matches no parameter", {{"requiresGrad", "nothing*"}}},
    {"matches no parameter", {{"frozen", "nothing*"}}},
    {"lossInputs names 2 values", {{"lossInputs", "output"}, {"lossInputs", "input"}}},
    {"lossInputs: the model has no value 'nowhere'", {{"lossInputs", "nowhere"}}},
    {"additionalOutputs: the model has no value 'nowhere'", {{"additionalOutputs", "nowhere"}}},
    {"holds no training_info", {{"loss.type", "training-info"}}},
    {"must be one number", {{"loss.type", "none"}}},
    {"weights", {{"loss.weights", "1,2"}}},
};

static const void *model(Arena *arena, size_t *bytes) { return file_read(arena, "tests/golden/mlp_small.onnx", bytes); }

/* In place, as a large file is. */
static bool load(TrainletArtifacts *a) {
  Arena arena = {0};
  size_t bytes;
  const void *from = model(&arena, &bytes);
  void *to = from ? trainlet_artifacts_file(a, bytes) : NULL;
  bool ok = to && trainlet_artifacts_load(a, memcpy(to, from, bytes), bytes) == STATUS_OK;
  arena_free(&arena);
  return check(ok, "%s", trainlet_artifacts_error(a)->text);
}

static void a_wrong_option_is_one_sentence(const void *argument) {
  const Wrong *w = argument;
  TrainletArtifacts *a = trainlet_artifacts_new();
  Status status = load(a) ? STATUS_OK : STATUS_INTERNAL;
  for (int i = 0; i < PAIRS && w->options[i][0] && status == STATUS_OK; i++)
    status = trainlet_artifacts_set(a, w->options[i][0], w->options[i][1]);
  if (status == STATUS_OK) status = trainlet_artifacts_build(a);
  const Error *error = trainlet_artifacts_error(a);
  check(status != STATUS_OK && status != STATUS_INTERNAL && strstr(error->text, w->words), "'%s' (%s)", error->text,
        status_code(status));
  trainlet_artifacts_free(a);
}

typedef struct Right {
  const char *what, *options[PAIRS][2];
} Right;

static const Right taken[] = {
    {"as they are", {{NULL}}},
    {"a sum", {{"loss.reduction", "sum"}}},
    {"weights of classes", {{"loss.weights", "0.5,1,2,1,1"}}},
    {"a class that is passed over", {{"loss.ignoreIndex", "1"}}},
};

/* The loss of the first step under each of the options. */
static double first_loss(const Right *r) {
  GoldenRun run;
  double loss = NAN;
  if (!golden_run_open(&run, "mlp_momentum")) return NAN;
  for (int i = 0; i < PAIRS && r->options[i][0]; i++) {
    Status status = trainlet_artifacts_set(run.artifacts, r->options[i][0], r->options[i][1]);
    check(status == STATUS_OK, "%s", trainlet_artifacts_error(run.artifacts)->text);
  }
  if (check(trainlet_artifacts_build(run.artifacts) == STATUS_OK, "%s",
            trainlet_artifacts_error(run.artifacts)->text)) {
    TrainletSession *s = golden_session(&run, NULL, 0);
    if (s) loss = golden_step(&run, s, 0), trainlet_session_free(s);
  }
  golden_run_close(&run);
  return loss;
}

static void options_change_the_loss(const void *argument) {
  (void)argument;
  double plain = first_loss(&taken[0]), sum = first_loss(&taken[1]), weighted = first_loss(&taken[2]),
         without = first_loss(&taken[3]);
  check(fabs(sum - 16 * plain) <= 1e-5 * sum, "the sum of 16 examples is %g, their mean %g", sum, plain);
  check(isfinite(weighted) && fabs(weighted - plain) > 1e-4, "weights leave the loss as it is, %g", weighted);
  check(isfinite(without) && fabs(without - plain) > 1e-4, "a class passed over leaves the loss as it is, %g", without);
}

static void parameters_are_those_of_a_loaded_model(const void *argument) {
  (void)argument;
  TrainletArtifacts *a = trainlet_artifacts_new();
  check(!trainlet_artifacts_parameters(a) && strstr(trainlet_artifacts_error(a)->text, "none was loaded"), "'%s'",
        trainlet_artifacts_error(a)->text);
  const char *text = load(a) ? trainlet_artifacts_parameters(a) : NULL;
  check(text && strstr(text, "\"readers\":[{\"node\":\"/fc1/Gemm\",\"op\":\"Gemm\",\"as\":\"weight\"}]"), "'%s'",
        text ? text : trainlet_artifacts_error(a)->text);
  check(trainlet_artifacts_build(a) == STATUS_OK, "%s", trainlet_artifacts_error(a)->text);
  trainlet_artifacts_free(a);
}

int main(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    test_run(refused[i].options[0][0], a_wrong_option_is_one_sentence, &refused[i]);
  TEST(options_change_the_loss);
  TEST(parameters_are_those_of_a_loaded_model);
  return test_finish();
}
