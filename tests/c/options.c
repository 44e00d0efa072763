/* Options of artifacts: each wrong one is one sentence that names it, after which a right one is taken; and what the
 * right ones bring. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "golden_run.h"

enum { PAIRS = 3 };
typedef struct Wrong {
  const char *words; /* in the sentence */
  const char *options[PAIRS][2];
} Wrong;

static const Wrong refused[] = {
    {"cross-entropy, mse", {{"loss.type", "hinge"}}},
    {"mean or sum", {{"loss.reduction", "max"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1,,2"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", ""}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1,2,"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1,2x"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1,nan"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1,-1"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1e39"}}},
    {"numbers of at least 0 joined by commas", {{"loss.weights", "1,1,2,1,1"}, {"loss.weights", "1,-1"}}},
    {"'' is not mean or sum", {{"loss.reduction", ""}}},
    {"a whole number", {{"loss.ignoreIndex", "1.5"}}},
    {"'' is not a whole number", {{"loss.ignoreIndex", ""}}},
    {"a number from 0 to 1", {{"loss.labelSmoothing", ""}}},
    {"a number from 0 to 1", {{"loss.labelSmoothing", "0.5x"}}},
    {"a number from 0 to 1", {{"loss.labelSmoothing", "-0.1"}}},
    {"'2' is not 1 or -1 (the last axis)", {{"loss.axis", "2"}}},
    {"'' is not 1 or -1 (the last axis)", {{"loss.axis", ""}}},
    {"needs scores of shape (N, C, …), 'fc1.bias' is", {{"lossInputs", "fc1.bias"}}},
    {"need scores with a dim for the examples",
     {{"loss.type", "mse"}, {"loss.sampleWeights", "1"}, {"lossInputs", "/dropout1/Constant_output_0"}}},
    {"the loss needs float32 scores, '/dropout1/Constant_1_output_0' is bool",
     {{"lossInputs", "/dropout1/Constant_1_output_0"}}},
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
    {"a number above 0 and up to 1e30", {{"loss.delta", "1e31"}}},
    {"a number above 0 and up to 1e30", {{"loss.delta", ""}}},
    {"a number above 0 and up to 1e30", {{"loss.delta", "1x"}}},
    {"no option 'loss.colour'", {{"loss.colour", "red"}}},
    {"'' is not a name", {{"losses.0.input", ""}}},
    {"'' is not a name", {{"losses.0.label", ""}}},
    {"a number from 0 to 1e30", {{"losses.0.weight", "-1"}}},
    {"a number from 0 to 1e30", {{"losses.0.weight", "1e31"}}},
    {"a number from 0 to 1e30", {{"losses.0.weight", ""}}},
    {"a number from 0 to 1e30", {{"losses.0.weight", "1x"}}},
    {"'outside' is not cross-entropy, mse, bce-with-logits, l1, huber or none", {{"losses.0.type", "outside"}}},
    {"'training-info' is not cross-entropy, mse", {{"losses.0.type", "training-info"}}},
    {"'yes' is not 0 or 1", {{"losses.0.sampleWeights", "yes"}}},
    {"no option 'losses.5.type'", {{"losses.5.type", "mse"}}},
    {"no option 'losses.2.type'", {{"losses.0.type", "mse"}, {"losses.2.type", "mse"}}},
    {"no option 'losses.-1.type'", {{"losses.-1.type", "mse"}}},
    {"no option 'losses.x.type'", {{"losses.x.type", "mse"}}},
    {"no option 'losses.0'", {{"losses.0", "mse"}}},
    {"no option 'losses.0.colour'; it knows input, label, weight, type, reduction", {{"losses.0.colour", "red"}}},
    {"losses: the model has no value 'nowhere'", {{"losses.0.input", "nowhere"}}},
    {"label 'input': a value of that name is there already", {{"losses.0.label", "input"}}},
    {"each of the losses has its own input", {{"losses.0.type", "mse"}, {"lossInputs", "logits"}}},
    {"no option 'colour'", {{"colour", "red"}}},
    {"no option 'optimizer.colour'", {{"optimizer.colour", "red"}}},
    {"adamw, adam, adagrad, rmsprop or sgd", {{"optimizer.type", "lion"}}},
    {"'' is not adamw, adam, adagrad, rmsprop or sgd", {{"optimizer.type", ""}}},
    {"a number of at least 0", {{"optimizer.lr", "-1"}}},
    {"a number of at least 0", {{"optimizer.lr", "1e39"}}},
    {"a number of at least 0", {{"optimizer.weightDecay", "-0.1"}}},
    {"a number of at least 0", {{"optimizer.clipGradNorm", "-1"}}},
    {"a number of at least 0", {{"optimizer.clipGradValue", ""}}},
    {"a number of at least 0", {{"optimizer.type", "adagrad"}, {"optimizer.lrDecay", "-1"}}},
    {"a number of at least 0 and below 1", {{"optimizer.type", "rmsprop"}, {"optimizer.alpha", "1"}}},
    {"a number of at least 0 and below 1", {{"optimizer.type", "rmsprop"}, {"optimizer.momentum", "-0.5"}}},
    {"'1e39' is not a number", {{"optimizer.type", "sgd"}, {"optimizer.dampening", "1e39"}}},
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
    {"adagrad has no such option; it has type, lr, eps, weightDecay, lrDecay, clipGradNorm, clipGradValue",
     {{"optimizer.type", "adagrad"}, {"optimizer.momentum", "0.9"}}},
    {"rmsprop has no such option; it has type, lr, eps, weightDecay, momentum, alpha, clipGradNorm",
     {{"optimizer.type", "rmsprop"}, {"optimizer.nesterov", "1"}}},
    {"names of passes", {{"passes", "gelu,speed"}}},
    {"names of passes", {{"passes", "gelu,,bias"}}},
    {"names of passes", {{"passes", "gel"}}},
    {"'yes' is not 0 or 1", {{"untie", "yes"}}},
    {"'yes' is not 0 or 1", {{"withoutWeights", "yes"}}},
    {"'yes' is not 0 or 1", {{"otherWeights", "yes"}}},
    {"'yes' is not 0 or 1", {{"initialize", "yes"}}},
    {"'yes' is not 0 or 1", {{"ortFormat", "yes"}}},
    {"'loose' is not free or fixed", {{"batch", "loose"}}},
    {"'' is not a number of bytes", {{"maxMemoryBytes", ""}}},
    {"'1 MB' is not a number of bytes", {{"maxMemoryBytes", "1 MB"}}},
    {"'-1' is not a number of bytes", {{"maxMemoryBytes", "-1"}}},
    {"'nan' is not a number of bytes", {{"maxMemoryBytes", "nan"}}},
    {"maxMemoryBytes is 1000", {{"maxMemoryBytes", "1000"}}},
    {"'file' is not bytes and a location", {{"inPieces", "file"}}},
    {"'12' is not bytes and a location", {{"inPieces", "12"}}},
    {"'12,file' is not bytes and a location", {{"inPieces", "12,file"}}},
    {"'12 ' is not bytes and a location", {{"inPieces", "12 "}}},
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
    {"'' is not a name", {{"head.classes", ""}}},
    {"'cat' is not a name of one class alone", {{"head.classes", "cat"}, {"head.classes", "cat"}}},
    {"'' is not a name", {{"head.at", ""}}},
    {"head.at: the model computes no value 'nowhere'", {{"head.classes", "cat"}, {"head.at", "nowhere"}}},
    {"a whole number from 0 to 1048576", {{"head.hidden", ""}}},
    {"a whole number from 0 to 1048576", {{"head.hidden", "1.5"}}},
    {"a whole number from 0 to 1048576", {{"head.hidden", "-1"}}},
    {"a whole number from 0 to 1048576", {{"head.hidden", "1048577"}}},
    {"no option 'head.colour'; it knows classes, at and hidden", {{"head.colour", "red"}}},
    {"lossInputs is for models without one", {{"head.classes", "cat"}, {"lossInputs", "logits"}}},
    {"a whole number from 1 to 65536", {{"lora.r", ""}}},
    {"a whole number from 1 to 65536", {{"lora.r", "2.5"}}},
    {"a whole number from 1 to 65536", {{"lora.r", "0"}}},
    {"a whole number from 1 to 65536", {{"lora.r", "65537"}}},
    {"'' is not a number", {{"lora.alpha", ""}}},
    {"'8x' is not a number", {{"lora.alpha", "8x"}}},
    {"'1e39' is not a number", {{"lora.alpha", "1e39"}}},
    {"a number of at least 0 and below 1", {{"lora.dropout", "none"}}},
    {"a number of at least 0 and below 1", {{"lora.dropout", "-0.1"}}},
    {"a number of at least 0 and below 1", {{"lora.dropout", "1"}}},
    {"'yes' is not 0 or 1", {{"lora.rsLora", "yes"}}},
    {"'yes' is not 0 or 1", {{"lora.ofPeft", "yes"}}},
    {"'zeros' is not kaiming-uniform or gaussian", {{"lora.init", "zeros"}}},
    {"'some' is not none, all or lora_only", {{"lora.bias", "some"}}},
    {"pattern=rank, a whole number from 1 to 65536", {{"lora.rankPattern", "fc1"}}},
    {"pattern=rank, a whole number from 1 to 65536", {{"lora.rankPattern", "=4"}}},
    {"pattern=rank, a whole number from 1 to 65536", {{"lora.rankPattern", "fc1=four"}}},
    {"pattern=rank, a whole number from 1 to 65536", {{"lora.rankPattern", "fc1=0"}}},
    {"pattern=rank, a whole number from 1 to 65536", {{"lora.rankPattern", "fc1=1.5"}}},
    {"pattern=rank, a whole number from 1 to 65536", {{"lora.rankPattern", "fc1=65537"}}},
    {"pattern=alpha, a number", {{"lora.alphaPattern", "fc1="}}},
    {"pattern=alpha, a number", {{"lora.alphaPattern", "fc1=inf"}}},
    {"no option 'lora.colour'; it knows r, alpha, dropout, targets", {{"lora.colour", "red"}}},
    {"lora.targets: 'nothing' matches no module", {{"lora.targets", "nothing"}}},
    {"lora.modulesToSave: 'nothing' matches no module", {{"lora.modulesToSave", "nothing"}}},
    {"lora: no module is left to adapt", {{"lora.exclude", "fc*"}}},
    {"lora.modulesToSave, not by requiresGrad", {{"lora.r", "2"}, {"requiresGrad", "fc*"}}},
};

static const void *model(Arena *arena, size_t *bytes) {
  return file_read(arena, "tests/golden/data/mlp_small.onnx", bytes);
}

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

/* Sets the first `count` options of w, up to one that is refused; how many were taken. */
static int set_some(TrainletArtifacts *a, const Wrong *w, int count) {
  int i = 0;
  while (i < count && w->options[i][0] && trainlet_artifacts_set(a, w->options[i][0], w->options[i][1]) == STATUS_OK)
    i++;
  return i;
}

static bool same_training_model(const TrainletArtifacts *a, const TrainletArtifacts *b) {
  size_t bytes, other_bytes;
  const void *file = trainlet_artifacts_bytes(a, TRAINLET_TRAIN, &bytes),
             *other = trainlet_artifacts_bytes(b, TRAINLET_TRAIN, &other_bytes);
  return bytes == other_bytes && (!bytes || memcmp(file, other, bytes) == 0);
}

/* A refused option `at` leaves the build as it is without it. */
static void check_no_trace(TrainletArtifacts *a, const Wrong *w, int at) {
  TrainletArtifacts *without = trainlet_artifacts_new();
  if (load(without) && set_some(without, w, at) == at) {
    Status want = trainlet_artifacts_build(without), got = trainlet_artifacts_build(a);
    check(want == got && same_training_model(a, without), "the refused option changes what is built: %s",
          trainlet_artifacts_error(a)->text);
  }
  trainlet_artifacts_free(without);
}

static void a_wrong_option_is_one_sentence(const void *argument) {
  const Wrong *w = argument;
  TrainletArtifacts *a = trainlet_artifacts_new();
  if (load(a)) {
    int taken = set_some(a, w, PAIRS);
    bool refused_at_once = taken < PAIRS && w->options[taken][0];
    Status status = refused_at_once ? trainlet_artifacts_error(a)->status : trainlet_artifacts_build(a);
    const Error *error = trainlet_artifacts_error(a);
    check(status != STATUS_OK && status != STATUS_INTERNAL && strstr(error->text, w->words), "'%s' (%s)", error->text,
          status_code(status));
    if (refused_at_once) check_no_trace(a, w, taken);
  }
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
