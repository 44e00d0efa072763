/* Files: what is written is read back the same, what is damaged is refused with a sentence; and the optimizers against
 * PyTorch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint/checkpoint.h"
#include "onnx/onnx.h"
#include "train/optimizer.h"

/* ---- optimizers ---- */

enum { ELEMENTS = 5 };

typedef struct Trajectory {
  OptimizerKind kind;
  float momentum;
  bool nesterov;
  float p[ELEMENTS]; /* after ten steps, lr 0.01, weight decay 0.1, g = i·p² − 0.3 + 0.05·t: torch.optim in float64 */
  float dampening, lr_decay;
} Trajectory;

static const Trajectory trajectories[] = {
    {OPTIMIZER_SGD, 0, false, {-0.409508691f, -0.203317502f, 0.098261356f, 0.26632534f, 0.394975913f}},
    {OPTIMIZER_SGD, 0.9f, false, {-0.413175113f, -0.18689649f, 0.115581123f, 0.191700634f, 0.146902089f}},
    {OPTIMIZER_SGD, 0.9f, true, {-0.420989359f, -0.190274132f, 0.110788083f, 0.178295907f, 0.137176283f}},
    {OPTIMIZER_ADAM, 0, false, {-0.379912576f, -0.149111581f, 0.138601157f, 0.198416842f, 0.399923274f}},
    {OPTIMIZER_ADAMW, 0, false, {-0.400612603f, -0.154827487f, 0.142464627f, 0.196053464f, 0.395421789f}},
    {OPTIMIZER_ADAGRAD,
     0,
     false,
     {-0.398510693f, -0.189226326f, 0.110216012f, 0.260501439f, 0.465698992f},
     .lr_decay = 0.2f},
    {OPTIMIZER_RMSPROP, 0, false, {-0.291474686f, -0.080538351f, -0.0590392448f, -0.131287821f, 0.140818885f}},
    {OPTIMIZER_RMSPROP, 0.9f, false, {0.244997824f, -0.0140679944f, -0.471798687f, -0.512747343f, -0.985655264f}},
    {OPTIMIZER_SGD,
     0.9f,
     false,
     {-0.406708999f, -0.187352149f, 0.115332243f, 0.21880103f, 0.216578332f},
     .dampening = 0.3f},
    /* not in PyTorch: the formulas in float64, of ONNX's Adam and of the Hugging Face order */
    {OPTIMIZER_ADAM_HF, 0, false, {-0.379921447f, -0.149119601f, 0.138597326f, 0.19842575f, 0.399924763f}},
    {OPTIMIZER_ADAMW_HF, 0, false, {-0.400627485f, -0.154890091f, 0.142427554f, 0.196165727f, 0.395521622f}},
};

static void optimizers_follow_pytorch(const void *argument) {
  (void)argument;
  for (size_t k = 0; k < sizeof trajectories / sizeof *trajectories; k++) {
    const Trajectory *want = &trajectories[k];
    Optimizer o = optimizer_default(want->kind);
    float p[ELEMENTS] = {-0.4f, -0.2f, 0.1f, 0.3f, 0.5f}, g[ELEMENTS], m[ELEMENTS] = {0}, v[ELEMENTS] = {0};
    o.weight_decay = 0.1f;
    o.momentum = want->momentum;
    o.nesterov = want->nesterov;
    o.dampening = want->dampening;
    o.lr_decay = want->lr_decay;
    for (int t = 1; t <= 10; t++) {
      for (int i = 0; i < ELEMENTS; i++) g[i] = 4 * (p[i] * p[i] * (float)(i + 1) - 0.3f + 0.05f * (float)t);
      optimizer_update(&o, t - 1 + o.first_step, 0.01f, 0.25f, p, g, m, v, ELEMENTS);
    }
    for (int i = 0; i < ELEMENTS; i++)
      check(fabsf(p[i] - want->p[i]) < 1e-6f, "%s %zu: element %d is %.8g, PyTorch has %.8g", optimizer_name(o.kind), k,
            i, (double)p[i], (double)want->p[i]);
  }
}

/* A decay or momentum of 0 is left out, as in PyTorch: 0 · −∞ is no number. */
static void a_decay_of_0_adds_nothing(const void *argument) {
  (void)argument;
  for (OptimizerKind kind = OPTIMIZER_NONE + 1; kind < OPTIMIZER_COUNT; kind++) {
    Optimizer o = optimizer_default(kind);
    float p[ELEMENTS] = {-INFINITY, INFINITY, 0.5f, 1, -INFINITY}, g[ELEMENTS] = {0, 0, 1}, m[ELEMENTS] = {0},
          v[ELEMENTS] = {0};
    o.weight_decay = 0;
    for (int t = 0; t < 3; t++) optimizer_update(&o, t + o.first_step, 0.01f, 1, p, g, m, v, ELEMENTS);
    check(p[0] == -INFINITY && p[1] == INFINITY && p[4] == -INFINITY, "%s makes of infinite elements %g, %g, %g",
          optimizer_name(kind), (double)p[0], (double)p[1], (double)p[4]);
    check(p[2] < 0.5f && p[3] == 1, "%s makes of 0.5 and 1 %g and %g", optimizer_name(kind), (double)p[2],
          (double)p[3]);
  }
}

static void norms_clip_and_tell_what_is_not_finite(const void *argument) {
  (void)argument;
  float g[11];
  for (int i = 0; i < 11; i++) g[i] = (float)(i - 5);
  Optimizer o = optimizer_default(OPTIMIZER_SGD);
  check(optimizer_norm_squared(g, 11) == 110, "the sum of squares is %g", optimizer_norm_squared(g, 11));
  check(optimizer_clip_scale(&o, 110) == 1, "no clipping was asked for");
  o.clip_norm = 2;
  check(fabs(optimizer_clip_scale(&o, 110) - 2 / (sqrt(110) + 1e-6)) < 1e-7, "clipped by %g",
        (double)optimizer_clip_scale(&o, 110));
  check(optimizer_clip_scale(&o, 1) == 1, "a small gradient is not clipped");
  for (int i = 0; i < 11; i++) {
    float was = g[i];
    g[i] = i & 1 ? NAN : -INFINITY;
    check(!isfinite(optimizer_norm_squared(g, 11)), "element %d is not finite, the norm is", i);
    g[i] = was;
  }
}

/* ---- optimizer models ---- */

static bool same_optimizer(const Optimizer *a, const Optimizer *b) {
  return a->kind == b->kind && a->beta1 == b->beta1 && a->beta2 == b->beta2 && a->eps == b->eps &&
         a->weight_decay == b->weight_decay && a->momentum == b->momentum && a->nesterov == b->nesterov &&
         a->correct_bias == b->correct_bias && a->dampening == b->dampening && a->lr_decay == b->lr_decay &&
         a->alpha == b->alpha && a->first_step == b->first_step && a->clip_norm == b->clip_norm;
}

static void optimizer_models_come_back(const void *argument) {
  (void)argument;
  Block block = {0};
  for (OptimizerKind kind = OPTIMIZER_NONE + 1; kind < OPTIMIZER_COUNT; kind++) {
    for (int variant = 0; variant < 4; variant++) {
      Error error = {0};
      Optimizer o = optimizer_default(kind), back;
      size_t bytes;
      if (variant & 1) o.clip_norm = 1.5f, o.weight_decay = 0.03f;
      if (variant & 2 && kind == OPTIMIZER_SGD) o.momentum = 0.8f, o.nesterov = true, o.dampening = 0.1f;
      else if (variant & 2 && kind == OPTIMIZER_ADAGRAD) o.lr_decay = 0.1f;
      else if (variant & 2 && kind == OPTIMIZER_RMSPROP) o.alpha = 0.5f, o.momentum = 0.8f;
      else if (variant & 2) o.correct_bias = false, o.beta1 = 0.5f, o.first_step = variant & 1;
      bool good = optimizer_model_write(&o, &error, &block, &bytes) == STATUS_OK &&
                  optimizer_model_read(block.data, bytes, NULL, &error, &back) == STATUS_OK;
      check(good && same_optimizer(&o, &back), "%s, variant %d: %s", optimizer_name(kind), variant, error.text);
    }
  }
  block_free(&block);
}

/* ---- models ---- */

static uint8_t *file_bytes(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
  *count = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*count + 1);
  if (fread(bytes, 1, *count, file) != *count) *count = 0;
  fclose(file);
  return bytes;
}

static void models_come_back(const void *path) {
  Arena arena = {0}, again_arena = {0};
  Error error = {0};
  Block first = {0}, second = {0};
  size_t count = 0, first_bytes = 0, second_bytes = 0;
  uint8_t *bytes = file_bytes(path, &count);
  if (!check(bytes != NULL, "%s cannot be read: run from the repository", (const char *)path)) return;
  Graph *g = onnx_read(bytes, count, NULL, &arena, &error), *again = NULL;
  free(bytes); /* a graph does not need them */
  if (g && onnx_write(g, false, &first, &first_bytes) == STATUS_OK)
    again = onnx_read(first.data, first_bytes, NULL, &again_arena, &error);
  if (check(again && onnx_write(again, false, &second, &second_bytes) == STATUS_OK, "%s", error.text)) {
    check(strcmp(graph_print(g, &arena), graph_print(again, &arena)) == 0, "it is another graph");
    check(first_bytes == second_bytes && memcmp(first.data, second.data, first_bytes) == 0,
          "it is written otherwise the second time");
  }
  for (size_t cut = 1; again && cut < first_bytes; cut += 1 + first_bytes / 199) {
    Arena scraps = {0};
    Error cut_error = {0};
    bool refused = !onnx_read(first.data, first_bytes - cut, NULL, &scraps, &cut_error);
    check(refused && cut_error.status == STATUS_INVALID_MODEL, "without its last %zu bytes it is %s", cut,
          refused ? cut_error.text : "read");
    arena_free(&scraps);
  }
  block_free(&first);
  block_free(&second);
  arena_free(&arena);
  arena_free(&again_arena);
}

/* A model of plain nodes over the input x (3) and the output y. */
static void refuse_nodes(const OnnxNode *nodes, int count, Status status, const char *sentence) {
  static const OnnxPort x = {"x", DTYPE_FLOAT32, 3}, y = {"y", DTYPE_FLOAT32, 3};
  static const Opset opsets[] = {{"", 17}};
  const OnnxPlain model = {.nodes = nodes,
                           .node_count = count,
                           .inputs = &x,
                           .input_count = 1,
                           .outputs = &y,
                           .output_count = 1,
                           .opsets = opsets,
                           .opset_count = 1};
  Arena arena = {0};
  Error error = {0};
  Block block = {0};
  size_t bytes = 0;
  check(onnx_write_nodes(&model, &error, &block, &bytes) == STATUS_OK, "%s", error.text);
  Graph *g = onnx_read(block.data, bytes, NULL, &arena, &error);
  check(!g && error.status == status && strcmp(error.text, sentence) == 0, "wanted '%s', got '%s: %s'", sentence,
        status_code(error.status), error.text);
  block_free(&block);
  arena_free(&arena);
}

#define NODE(op, name, in, out) {op, "", name, (const char *const[]){in}, (const char *const[]){out}, 1, 1, NULL, 0}

static void models_that_make_no_sense_are_refused(const void *argument) {
  (void)argument;
  const OnnxNode lacking[] = {NODE("Foo", "a", "x", "h"), NODE("Relu", "b", "h", "i"), NODE("Bar", "c", "i", "j"),
                              NODE("Foo", "d", "j", "y")};
  refuse_nodes(lacking, 4, STATUS_UNSUPPORTED_OP, "the model uses operators we lack: Foo, Bar");
  const OnnxNode unsorted[] = {NODE("Relu", "second", "h", "y"), NODE("Relu", "first", "x", "h")};
  refuse_nodes(
      unsorted, 2, STATUS_INVALID_MODEL,
      "Relu 'second' reads 'h', which only Relu 'first' at or after it makes: nodes must be sorted, without cycles");
  const OnnxNode unmade[] = {NODE("Relu", "r", "h", "y")};
  refuse_nodes(unmade, 1, STATUS_INVALID_MODEL, "Relu 'r' reads 'h', which nothing makes");
  const OnnxNode twice[] = {NODE("Relu", "r", "x", "y"), NODE("Relu", "s", "x", "y")};
  refuse_nodes(twice, 2, STATUS_INVALID_MODEL, "Relu 's' makes 'y', which exists already");
  const OnnxNode no_output[] = {NODE("Relu", "r", "x", "z")};
  refuse_nodes(no_output, 1, STATUS_INVALID_MODEL, "the model's output 'y' is made by no node");
}

/* A graph in an attribute of a node of a graph in …: a stack must not end before the reader refuses. */
static void deep_models_are_refused(const void *argument) {
  enum { LEVELS = 4000, ROOM = LEVELS * 18 };
  static const uint8_t fields[] = {0x2A, 0x0A, 0x32}; /* node.attribute, graph.node, attribute.g */
  uint8_t *bytes = malloc(ROOM), *at = bytes + ROOM;
  Arena arena = {0};
  Error error = {0};
  (void)argument;
  for (int i = 0; i < LEVELS * 3; i++) {
    size_t length = (size_t)(bytes + ROOM - at);
    at -= 5;
    *at = i == LEVELS * 3 - 1 ? 0x3A : fields[i % 3]; /* model.graph outermost */
    for (int k = 0; k < 4; k++) at[1 + k] = (uint8_t)((length >> 7 * k & 0x7F) | (k < 3 ? 0x80 : 0));
  }
  check(!onnx_read(at, (size_t)(bytes + ROOM - at), NULL, &arena, &error) && strstr(error.text, "nested deeper"),
        "got '%s'", error.text);
  arena_free(&arena);
  free(bytes);
}

/* ---- checkpoints ---- */

static const float weights[] = {1, -2, 3, 0.5f, 0, 7};
static const int64_t counter = 12;

static Status write_checkpoint(Block *block, size_t *bytes, Error *error) {
  CheckpointTensor trainable[] = {{"w", DTYPE_FLOAT32, SHAPE(2, 3), weights, 24},
                                  {"b", DTYPE_FLOAT32, {0}, weights, 4}};
  CheckpointTensor frozen[] = {{"n", DTYPE_INT64, SHAPE(1), &counter, 8},
                               {"empty", DTYPE_FLOAT32, SHAPE(0, 2), weights, 0}};
  const CheckpointTensor first = {"momentum0", DTYPE_FLOAT32, SHAPE(6), weights, 24};
  const CheckpointTensor second = {"momentum1", DTYPE_FLOAT32, SHAPE(6), weights, 24};
  CheckpointMoments moments[] = {{"w", {first, second}, 2}};
  Property properties[] = {{"epoch", PROPERTY_INT, .i = -3},
                           {"best", PROPERTY_FLOAT, .f = 0.25f},
                           {"label", PROPERTY_STRING, .s = "größer"}};
  const Checkpoint c = {.trainable = trainable,
                        .frozen = frozen,
                        .trainable_count = 2,
                        .frozen_count = 2,
                        .has_optimizer = true,
                        .step = 41,
                        .initial_learning_rate = 0.1f,
                        .learning_rate = 0.05f,
                        .moments = moments,
                        .moment_count = 1,
                        .properties = properties,
                        .property_count = 3,
                        .rng_seed = UINT64_MAX,
                        .rng_step = 9,
                        .position = {1, 2, 3, 4, 5},
                        .fit = "{\"step\": 3}",
                        .best = trainable,
                        .best_count = 1};
  return trainlet_checkpoint_write(&c, error, block, bytes);
}

/* A session refuses files that it could not save again; the least rate there is, 0, is not refused. */
static void rates_that_cannot_be_are_refused(const void *argument) {
  static const float rates[] = {0, -0.5f, INFINITY, NAN};
  (void)argument;
  for (int i = 0; i < 4; i++) {
    const Checkpoint c = {.has_optimizer = true, .learning_rate = rates[i]};
    Arena arena = {0};
    Error error = {0};
    Block ours = {0}, ort = {0};
    size_t bytes = 0, ort_bytes = 0;
    Checkpoint is;
    Status want = i ? STATUS_CHECKPOINT_CORRUPT : STATUS_OK;
    if (!check(trainlet_checkpoint_write(&c, &error, &ours, &bytes) == STATUS_OK &&
                   ort_checkpoint_write(&c, 2, &error, &ort, &ort_bytes) == STATUS_OK,
               "%s", error.text))
      return;
    check(trainlet_checkpoint_read(ours.data, bytes, &arena, &error, &is) == want, "ours with %g", (double)rates[i]);
    error_clear(&error);
    check(ort_checkpoint_read(ort.data, ort_bytes, NULL, &arena, &error, &is) == want, "ort with %g", (double)rates[i]);
    arena_free(&arena);
    block_free(&ours);
    block_free(&ort);
  }
}

static void checkpoints_come_back(const void *argument) {
  (void)argument;
  Arena arena = {0};
  Error error = {0};
  Block block = {0}, again = {0};
  size_t bytes = 0, again_bytes = 0;
  Checkpoint c;
  write_checkpoint(&block, &bytes, &error);
  if (!check(trainlet_checkpoint_read(block.data, bytes, &arena, &error, &c) == STATUS_OK, "%s", error.text)) return;
  check(c.trainable_count == 2 && c.frozen_count == 2 && c.moment_count == 1 && c.property_count == 3,
        "parts are missing");
  check(memcmp(c.trainable[0].data, weights, 24) == 0 && c.trainable[0].shape.dim[1] == 3 &&
            c.trainable[1].shape.rank == 0,
        "w or b differs");
  check(c.has_optimizer && c.step == 41 && c.learning_rate == 0.05f && c.initial_learning_rate == 0.1f,
        "the optimizer's state differs");
  check(c.rng_seed == UINT64_MAX && c.rng_step == 9 && c.position[4] == 5 && strcmp(c.fit, "{\"step\": 3}") == 0,
        "the run's state differs");
  check(c.best_count == 1 && memcmp(c.best[0].data, weights, 24) == 0, "the best differs");
  check(c.properties[0].i == -3 && strcmp(c.properties[2].s, "größer") == 0, "a property differs");
  trainlet_checkpoint_write(&c, &error, &again, &again_bytes);
  check(bytes == again_bytes && memcmp(block.data, again.data, bytes) == 0, "it is written otherwise the second time");
  block_free(&block);
  block_free(&again);
  arena_free(&arena);
}

enum { VERSION_AT = 6 };

static void damaged_checkpoints_are_refused(const void *argument) {
  (void)argument;
  Arena arena = {0};
  Error error = {0};
  Block block = {0};
  size_t bytes = 0;
  Checkpoint c;
  write_checkpoint(&block, &bytes, &error);
  for (size_t length = 0; length < bytes; length++) {
    error_clear(&error);
    Status status = trainlet_checkpoint_read(block.data, length, &arena, &error, &c);
    check(status == STATUS_CHECKPOINT_CORRUPT && error.text[0], "its first %zu bytes are %s", length,
          status_code(status));
  }
  for (size_t i = 0; i < bytes * 8; i++) {
    error_clear(&error);
    ((uint8_t *)block.data)[i / 8] ^= (uint8_t)(1 << i % 8);
    Status status = trainlet_checkpoint_read(block.data, bytes, &arena, &error, &c);
    Status wanted = i / 8 == VERSION_AT ? STATUS_UNSUPPORTED_VERSION : STATUS_CHECKPOINT_CORRUPT;
    check(status == wanted && error.text[0], "with bit %zu turned it is %s", i, status_code(status));
    ((uint8_t *)block.data)[i / 8] ^= (uint8_t)(1 << i % 8);
  }
  block_free(&block);
  arena_free(&arena);
}

/* No writer writes what a reader refuses, in either format. */
static void what_could_not_be_read_is_not_written(const void *argument) {
  CheckpointTensor w[] = {{"w", DTYPE_FLOAT32, SHAPE(2, 3), weights, 24}, {"w", DTYPE_FLOAT32, {0}, weights, 4}};
  CheckpointTensor nameless[] = {{"", DTYPE_FLOAT32, SHAPE(2, 3), weights, 24}};
  Property bad[] = {{"", PROPERTY_STRING, .s = "x"}}, twice[] = {{"n", PROPERTY_INT}, {"n", PROPERTY_FLOAT}};
  const Checkpoint samples[] = {{.trainable = w, .trainable_count = 1, .properties = bad, .property_count = 1},
                                {.trainable = w, .trainable_count = 1, .properties = twice, .property_count = 2},
                                {.trainable = w, .trainable_count = 2},
                                {.trainable = nameless, .trainable_count = 1},
                                {.trainable = w, .trainable_count = 1, .best = w, .best_count = 2}};
  for (int i = 0; i < 5; i++) {
    for (int version = 0; version <= 2; version++) {
      Error error = {0};
      Block block = {0};
      size_t bytes;
      if (version) ort_checkpoint_write(&samples[i], version, &error, &block, &bytes);
      else trainlet_checkpoint_write(&samples[i], &error, &block, &bytes);
      check(error.status == STATUS_CHECKPOINT_CORRUPT && error.text[0], "sample %d is written as format %d", i,
            version);
      block_free(&block);
    }
  }
}

int main(void) {
  TEST(optimizers_follow_pytorch);
  TEST(a_decay_of_0_adds_nothing);
  TEST(norms_clip_and_tell_what_is_not_finite);
  TEST(optimizer_models_come_back);
  test_run("models_come_back (convolution)", models_come_back, "tests/golden/data/cnn_bn.onnx");
  test_run("models_come_back (embedding)", models_come_back, "tests/golden/data/tokens.onnx");
  TEST(models_that_make_no_sense_are_refused);
  TEST(deep_models_are_refused);
  TEST(checkpoints_come_back);
  TEST(rates_that_cannot_be_are_refused);
  TEST(damaged_checkpoints_are_refused);
  TEST(what_could_not_be_read_is_not_written);
  return test_finish();
}
