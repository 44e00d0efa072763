/* Artifacts: an inference model becomes ONNX Runtime's four training artifacts.
 *
 *   model ─ mode_copy ─ loss ─▶ eval model
 *         ─ mode_copy ─ loss ─ passes that recognise operators in their pieces ─ backward ─ accumulators ─▶ train model
 * options ─▶ optimizer model └─ parameters ─▶ checkpoint
 *
 * A model with a training_info may bring loss, parameters and optimizer itself (train/training_info.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "checkpoint/checkpoint.h"
#include "onnx/onnx.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "graph/backward.h"
#include "train/glob.h"
#include "train/loss.h"
#include "train/mode.h"
#include "train/optimizer.h"
#include "train/training_info.h"
#include "trainlet.h"

enum { SENTENCE = 200 }; /* what an error lists */

typedef struct NameList {
  const char **names;
  int count, capacity;
} NameList;

struct TrainletArtifacts {
  Arena arena;    /* itself, and the options' text */
  Arena parsed;   /* the model */
  Arena read;     /* what its training_info gives */
  Arena building; /* of one build: marks, lists, warnings */
  Budget budget;
  External external;
  Error error;
  Graph *model;
  LossOptions loss;
  Optimizer optimizer;
  NameList requires_grad, frozen, loss_inputs, additional_outputs;
  unsigned passes; /* a bit each: passes.h */
  bool nominal;    /* the checkpoint names the parameters without their values */
  OnnxTraining training;
  bool by_training_info; /* loss.type training-info */
  bool has_optimizer;    /* its type is among the options */
  bool has_settings;     /* others of its options are */
  bool initialize;       /* run the training_info's initialization */
  TrainingInfo info;
  Block weights; /* loss.weights */
  Block bytes[4];
  size_t lengths[4];
  char *warnings; /* a sentence a line; NULL: none */
  int warned, warned_capacity;
};

static Status invalid(TrainletArtifacts *a, const char *key, const char *value, const char *wanted) {
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "option %.60s: '%.100s' is not %s", key, value, wanted);
}

static void enter(TrainletArtifacts *a) { budget_enter(&a->budget, &a->error); }
static Status leave(TrainletArtifacts *a, bool done) { return budget_leave(&a->budget, &a->error, done); }

TrainletArtifacts *trainlet_artifacts_new(void) {
  Arena arena = {0};
  Budget budget = {0};
  Error error = {0};
  budget_enter(&budget, &error);
  TrainletArtifacts *a = ARENA_NEW(&arena, TrainletArtifacts);
  if (budget_leave(&budget, &error, a) != STATUS_OK) return arena_free(&arena), NULL;
  a->arena = arena;
  a->budget = budget;
  a->optimizer = optimizer_default(OPTIMIZER_ADAMW);
  a->loss.delta = 1;
  a->passes = PASSES_ALL;
  a->initialize = true;
  return a;
}

void *trainlet_artifacts_external(TrainletArtifacts *a, const char *location, size_t bytes) {
  enter(a);
  void *to = external_add(&a->external, location, bytes, &a->arena);
  if (!to)
    error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the %zu bytes of external data '%.200s'", bytes,
              location);
  return leave(a, to) == STATUS_OK ? to : NULL;
}

void *trainlet_artifacts_file(TrainletArtifacts *a, size_t bytes) {
  enter(a);
  void *to = external_add_file(&a->external, bytes, &a->arena);
  if (!to) error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for a model of %zu bytes", bytes);
  return leave(a, to) == STATUS_OK ? to : NULL;
}

static void forget_model(TrainletArtifacts *a) {
  a->model = NULL;
  a->training = (OnnxTraining){0};
  a->info = (TrainingInfo){0};
  arena_free(&a->parsed);
  arena_free(&a->read);
}

static Status load(TrainletArtifacts *a, const void *model, size_t bytes) {
  ExternalFile *file = external_at(&a->external, model);
  if (file && file->spent)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "loading this file in place has failed before: it must be written again");
  forget_model(a);
  a->model = onnx_read_training(model, bytes, &a->external, &a->parsed, &a->error, &a->training);
  bool good = a->model && a->error.status == STATUS_OK && !budget_missed();
  if (file) external_settle(file, good, false);
  if (!good) forget_model(a);
  return good ? STATUS_OK : STATUS_INTERNAL;
}

Status trainlet_artifacts_load(TrainletArtifacts *a, const void *model, size_t bytes) {
  enter(a);
  return leave(a, load(a, model, bytes) == STATUS_OK);
}

void trainlet_artifacts_free(TrainletArtifacts *a) {
  if (!a) return;
  for (int i = 0; i < 4; i++) block_free(&a->bytes[i]);
  block_free(&a->weights);
  external_free(&a->external);
  arena_free(&a->parsed);
  arena_free(&a->read);
  arena_free(&a->building);
  Arena arena = a->arena; /* a itself lies in it */
  arena_free(&arena);
}

const Error *trainlet_artifacts_error(const TrainletArtifacts *a) { return &a->error; }
const char *trainlet_artifacts_warnings(const TrainletArtifacts *a) { return a->warnings ? a->warnings : ""; }

const void *trainlet_artifacts_bytes(const TrainletArtifacts *a, TrainletPart part, size_t *bytes) {
  *bytes = part <= TRAINLET_CHECKPOINT ? a->lengths[part] : 0;
  return part <= TRAINLET_CHECKPOINT ? a->bytes[part].data : NULL;
}

static bool add_letter(TrainletArtifacts *a, char letter) {
  char *grown = arena_list_grow(&a->building, a->warnings, a->warned, &a->warned_capacity, 1);
  if (!grown) return false;
  a->warnings = grown;
  grown[a->warned++] = letter;
  return true;
}

/* One for which there is no room is left out. */
static void warn(TrainletArtifacts *a, const char *format, const char *name) {
  Error sentence = {0};
  int start = a->warned;
  error_set(&sentence, STATUS_INTERNAL, NULL, format, name);
  bool fits = true;
  for (const char *letter = sentence.text; fits && *letter; letter++) fits = add_letter(a, *letter);
  fits = fits && add_letter(a, '\n') && add_letter(a, '\0');
  a->warned = fits ? a->warned - 1 : start;
  if (a->warnings) a->warnings[a->warned] = '\0';
}

/* ---- options ---- */

static Status list_add(TrainletArtifacts *a, NameList *list, const char *value) {
  const char *copy = arena_copy_text(&a->arena, value);
  int capacity = list->capacity;
  const char **names = arena_list_grow(&a->arena, list->names, list->count, &capacity, sizeof *names);
  if (!copy || !names) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the options");
  list->names = names;
  list->capacity = capacity;
  list->names[list->count++] = copy;
  return STATUS_OK;
}

/* Names by their index, NULL past the end. */
typedef const char *Names(int i);

/* "a, b or c": the names and, if any, one more; `word` stands before the last. */
static const char *listed(char text[SENTENCE], Names *name, const char *more, const char *word) {
  int count = 0, at = 0;
  while (name(count)) count++;
  int total = count + (more != NULL);
  for (int i = 0; i < total && at < SENTENCE; i++) {
    const char *here = i < count ? name(i) : more;
    if (i == total - 1) at += snprintf(text + at, (size_t)(SENTENCE - at), " %s %s", word, here);
    else at += snprintf(text + at, (size_t)(SENTENCE - at), "%s%s", i ? ", " : "", here);
  }
  return text;
}

static Status unknown(TrainletArtifacts *a, const char *key, Names *known) {
  char text[SENTENCE];
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "there is no option '%.60s'; it knows %s", key,
                   listed(text, known, NULL, "and"));
}

static Status set_weights(TrainletArtifacts *a, const char *key, const char *value) {
  int count = 1, at = 0;
  for (const char *p = value; *p; p++) count += *p == ',';
  a->loss.weights = NULL;
  float *weights = block_reserve(&a->weights, (size_t)count * sizeof *weights) ? a->weights.data : NULL;
  if (!weights) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the options");
  for (const char *p = value; at < count; p++) {
    char *end;
    weights[at++] = strtof(p, &end);
    if (end == p || (*end && *end != ',')) return invalid(a, key, value, "numbers joined by commas");
    p = end;
  }
  a->loss.weights = weights;
  a->loss.weight_count = count;
  return STATUS_OK;
}

static Status set_loss_type(TrainletArtifacts *a, const char *key, const char *value) {
  char text[SENTENCE];
  a->by_training_info = strcmp(value, "training-info") == 0;
  if (a->by_training_info || loss_named(value, &a->loss.kind)) return STATUS_OK;
  return invalid(a, key, value, listed(text, loss_name, "training-info", "or"));
}

static Status set_reduction(TrainletArtifacts *a, const char *key, const char *value) {
  a->loss.sum = strcmp(value, "sum") == 0;
  return a->loss.sum || strcmp(value, "mean") == 0 ? STATUS_OK : invalid(a, key, value, "mean or sum");
}

static Status set_ignore_index(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  a->loss.ignore_index = strtoll(value, &end, 10);
  a->loss.has_ignore_index = true;
  return *value && !*end ? STATUS_OK : invalid(a, key, value, "a whole number");
}

static Status set_delta(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  a->loss.delta = strtof(value, &end);
  bool good = end != value && !*end && a->loss.delta > 0 && a->loss.delta <= 1e30f;
  return good ? STATUS_OK : invalid(a, key, value, "a number above 0 and up to 1e30");
}

typedef struct LossOption {
  const char *name;
  Status (*set)(TrainletArtifacts *a, const char *key, const char *value);
} LossOption;
static const LossOption loss_options[] = {
    {"type", set_loss_type},           {"reduction", set_reduction}, {"weights", set_weights},
    {"ignoreIndex", set_ignore_index}, {"delta", set_delta},         {NULL, NULL},
};
static const char *loss_option(int i) { return loss_options[i].name; }

static Status set_loss(TrainletArtifacts *a, const char *key, const char *value) {
  for (const LossOption *o = loss_options; o->name; o++)
    if (strcmp(key + strlen("loss."), o->name) == 0) return o->set(a, key, value);
  return unknown(a, key, loss_option);
}

static Status set_flag(TrainletArtifacts *a, const char *key, const char *value, bool *to) {
  *to = strcmp(value, "1") == 0;
  return *to || strcmp(value, "0") == 0 ? STATUS_OK : invalid(a, key, value, "0 or 1");
}

static Status set_optimizer_type(TrainletArtifacts *a, const char *key, const char *value) {
  char text[SENTENCE];
  OptimizerKind kind = optimizer_named(value);
  if (kind == OPTIMIZER_NONE) return invalid(a, key, value, listed(text, optimizer_choice, NULL, "or"));
  a->has_optimizer = true;
  a->optimizer = optimizer_default(kind);
  return STATUS_OK;
}

/* The settings of one name, `count` from `id` on: as many numbers, joined by commas. */
static Status set_numbers(TrainletArtifacts *a, const char *key, const char *value, SettingId id, int count) {
  const char *at = value;
  for (int i = 0; i < count; i++) {
    const Setting *s = optimizer_setting(id + (SettingId)i);
    char *end, wanted[80];
    double x = strtod(at, &end);
    bool good = end != at && *end == (i < count - 1 ? ',' : '\0') && x >= 0 && x <= s->max;
    if (count > 1) snprintf(wanted, sizeof wanted, "numbers from 0 to %g, %d joined by commas", s->max, count);
    else snprintf(wanted, sizeof wanted, "a number from 0 to %g", s->max);
    if (!good) return invalid(a, key, value, wanted);
    *setting_number(s, &a->optimizer) = (float)x;
    at = end + 1;
  }
  return STATUS_OK;
}

static bool is_setting(SettingId id, const char *option) {
  return id < SETTING_COUNT && optimizer_setting(id)->option && strcmp(optimizer_setting(id)->option, option) == 0;
}

static const char *optimizer_option(int i) {
  if (i == 0) return "type";
  for (SettingId id = SETTING_LR; id < SETTING_COUNT; id++) {
    const char *option = optimizer_setting(id)->option;
    if (option && !is_setting(id + 1, option) && --i == 0) return option;
  }
  return NULL;
}

/* Set the type before the others: it brings its own defaults. */
static Status set_optimizer(TrainletArtifacts *a, const char *key, const char *value) {
  const char *option = key + strlen("optimizer.");
  if (strcmp(option, "type") == 0) return set_optimizer_type(a, key, value);
  SettingId id = SETTING_LR;
  while (id < SETTING_COUNT && !is_setting(id, option)) id++;
  if (id == SETTING_COUNT) return unknown(a, key, optimizer_option);
  a->has_settings = true;
  const Setting *s = optimizer_setting(id);
  if (s->is_flag) return set_flag(a, key, value, setting_flag(s, &a->optimizer));
  return set_numbers(a, key, value, id, is_setting(id + 1, option) ? 2 : 1);
}

/* Names joined by commas. */
static Status set_passes(TrainletArtifacts *a, const char *key, const char *value) {
  a->passes = 0;
  for (const char *at = value; *at;) {
    size_t length = strcspn(at, ",");
    int i = 0;
    while (passes_name(i) && (strlen(passes_name(i)) != length || strncmp(passes_name(i), at, length) != 0)) i++;
    if (!passes_name(i)) return invalid(a, key, at, "names of passes joined by commas");
    a->passes |= 1u << i;
    at += length + (at[length] == ',');
  }
  return STATUS_OK;
}

static Status set_limit(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  double bytes = strtod(value, &end);
  if (end == value || *end || !(bytes >= 0)) return invalid(a, key, value, "a number of bytes");
  a->budget.limit_bytes = bytes;
  return STATUS_OK;
}

static Status set(TrainletArtifacts *a, const char *key, const char *value) {
  if (strncmp(key, "loss.", 5) == 0) return set_loss(a, key, value);
  if (strncmp(key, "optimizer.", 10) == 0) return set_optimizer(a, key, value);
  if (strcmp(key, "requiresGrad") == 0) return list_add(a, &a->requires_grad, value);
  if (strcmp(key, "frozen") == 0) return list_add(a, &a->frozen, value);
  if (strcmp(key, "lossInputs") == 0) return list_add(a, &a->loss_inputs, value);
  if (strcmp(key, "additionalOutputs") == 0) return list_add(a, &a->additional_outputs, value);
  if (strcmp(key, "passes") == 0) return set_passes(a, key, value);
  if (strcmp(key, "nominal") == 0) return set_flag(a, key, value, &a->nominal);
  if (strcmp(key, "initialize") == 0) return set_flag(a, key, value, &a->initialize);
  if (strcmp(key, "maxMemoryBytes") == 0) return set_limit(a, key, value);
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "there is no option '%.60s'", key);
}

Status trainlet_artifacts_set(TrainletArtifacts *a, const char *key, const char *value) {
  enter(a);
  return leave(a, set(a, key, value) == STATUS_OK);
}

const char *trainlet_loss_name(int i) { return loss_name(i); }
const char *trainlet_optimizer_name(int i) { return optimizer_choice(i); }

/* ---- which parameters train ---- */

static bool matches_any(const NameList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (glob_match(list->names[i], name)) return true;
  return false;
}

static bool named_exactly(const NameList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->names[i], name) == 0) return true;
  return false;
}

/* The parameter of the training_info that v of a->model is. */
static const TrainedParameter *trained_by_info(const TrainletArtifacts *a, const Value *v) {
  for (int i = 0; i < a->info.parameter_count; i++)
    if (strcmp(a->info.parameters[i].value->name, v->name) == 0) return &a->info.parameters[i];
  return NULL;
}

static bool trainable(const TrainletArtifacts *a, const Value *v) {
  if (a->by_training_info && !trained_by_info(a, v)) return false;
  if (v->statistic || matches_any(&a->frozen, v->name)) return false;
  return a->requires_grad.count == 0 || matches_any(&a->requires_grad, v->name);
}

/* A pattern that names nothing is a slip of the pen, not a wish. */
static Status check_patterns(TrainletArtifacts *a, const char *key, const NameList *list) {
  for (int i = 0; i < list->count; i++) {
    bool found = false;
    for (int k = 0; k < a->model->value_count && !found; k++)
      found = mode_is_parameter(a->model->values[k]) && glob_match(list->names[i], a->model->values[k]->name);
    if (!found)
      return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "%s '%.200s' matches no parameter of the model", key,
                       list->names[i]);
  }
  return STATUS_OK;
}

/* ---- graphs ---- */

static Value *scores_of(TrainletArtifacts *a, Graph *g) {
  const Value *from = a->model->output_count ? a->model->outputs[0] : NULL;
  if (a->loss_inputs.count > 1) {
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
              "lossInputs names %d values, the losses here take one: the scores", a->loss_inputs.count);
    return NULL;
  }
  if (a->loss_inputs.count && !(from = graph_find(a->model, a->loss_inputs.names[0]))) {
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "lossInputs: the model has no value '%.200s'",
              a->loss_inputs.names[0]);
    return NULL;
  }
  return from ? from->twin
              : (error_set(g->error, STATUS_INVALID_MODEL, NULL, "the model has no output to learn from"), NULL);
}

static Status add_parameters(Graph *g) {
  for (int i = 0; i < g->value_count; i++)
    if (g->values[i]->kind == VALUE_STATE) TRY(graph_add_input(g, g->values[i]));
  return STATUS_OK;
}

/* Model + loss, with the loss and the additional outputs as outputs and the parameters as inputs. */
static Graph *forward_graph(TrainletArtifacts *a, bool training, Arena *arena, Value **loss) {
  Graph *g = mode_copy(a->model, training, arena, &a->error);
  Value *scores = g ? scores_of(a, g) : NULL;
  *loss = scores ? loss_append(g, &a->loss, scores) : NULL;
  if (!*loss) {
    error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the loss");
    return NULL;
  }
  if (*loss != scores && graph_rename(g, *loss, "loss") != STATUS_OK) return NULL;
  char text[SHAPE_TEXT];
  if ((*loss)->shape.rank > 1 || ((*loss)->shape.rank == 1 && (*loss)->shape.dim[0] != 1)) {
    error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "the loss '%.200s' must be one number, it is %s", (*loss)->name,
              shape_print(&(*loss)->shape, text));
    return NULL;
  }
  if (add_parameters(g) != STATUS_OK || graph_add_output(g, *loss) != STATUS_OK) return NULL;
  for (int i = 0; i < a->additional_outputs.count; i++) {
    Value *v = graph_find(g, a->additional_outputs.names[i]);
    if (!v) {
      error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "additionalOutputs: the model has no value '%.200s'",
                a->additional_outputs.names[i]);
      return NULL;
    }
    if (graph_add_output(g, v) != STATUS_OK) return NULL;
  }
  /* The eval model stays as it came: it is what exportModel writes, and its own passes run when it is bound. */
  return training && passes_recognise(g, a->passes) != STATUS_OK ? NULL : g;
}

static Status add_accumulator(Graph *g, Value *parameter, Value *grad, Value *reset) {
  Arena *arena = g->arena;
  const char *buffer_name = arena_print(arena, "%s_grad.accumulation.buffer", parameter->name);
  const char *out_name = arena_print(arena, "%s_grad.accumulation.out", parameter->name);
  if (!buffer_name || !out_name)
    return error_set(g->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the training graph");
  Value *buffer = graph_value(g, buffer_name, DTYPE_FLOAT32, &parameter->shape, VALUE_STATE);
  if (!buffer) return g->error->status;
  TRY(graph_add_input(g, buffer));
  Node *n = graph_node(g, op_find("InPlaceAccumulatorV2"), out_name, (Value *[]){buffer, grad, reset}, 3, &out_name, 1,
                       NULL, 0);
  return n ? graph_add_output(g, n->out[0]) : g->error->status;
}

/* Appends backward and one accumulator for each parameter that the loss depends on; `trained[i]` of a->model's values.
 */
static Status append_training(TrainletArtifacts *a, Graph *g, Value *loss, bool *trained) {
  Graph *m = a->model;
  int count = 0;
  Value **wrt = ARENA_ARRAY(g->arena, Value *, m->value_count),
        **grads = ARENA_ARRAY(g->arena, Value *, m->value_count);
  if (!wrt || !grads) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the training graph");
  mode_mark_statistics(m);
  for (int i = 0; i < m->value_count; i++) /* wanted of them; what is trained comes below */
    if ((trained[i] = mode_is_parameter(m->values[i]) && trainable(a, m->values[i]))) wrt[count++] = m->values[i]->twin;
  float *one = ARENA_NEW(g->arena, float);
  if (!one) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the training graph");
  *one = 1;
  const char *seed_name = graph_fresh_name(g, arena_print(g->arena, "%s_grad", loss->name));
  Value *seed = graph_constant(g, seed_name, DTYPE_FLOAT32, &loss->shape, one);
  TRY(backward(g, loss, seed, wrt, count, grads));
  Shape flag = SHAPE(1);
  Value *reset = graph_value(g, "lazy_reset_grad", DTYPE_BOOL, &flag, VALUE_INPUT);
  if (!reset) return a->error.status;
  int left = 0;
  for (int i = 0, at = 0; i < m->value_count; i++) {
    if (!trained[i]) continue;
    Value *grad = grads[at], *parameter = wrt[at++];
    if (!grad && named_exactly(&a->requires_grad, parameter->name))
      return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "requiresGrad: the loss does not depend on '%.200s'",
                       parameter->name);
    if (!grad) {
      warn(a, "parameter '%s' stays frozen: the loss does not depend on it", parameter->name);
      trained[i] = false;
      continue;
    }
    left++;
    TRY(add_accumulator(g, parameter, grad, reset));
  }
  if (!left)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "no parameter is left to train: the loss depends on none that is not frozen");
  return graph_add_input(g, reset);
}

/* ---- the four parts ---- */

static Status write_graph(TrainletArtifacts *a, Graph *g, TrainletPart part) {
  return onnx_write(g, &a->bytes[part], &a->lengths[part]);
}

/* Its MaxPoolGrad must know the shape of dx but for the batch. */
static bool is_open_pool(const Node *n) {
  bool open = false;
  for (int i = 1; n->op == &op_max_pool_grad && i < n->out[0]->shape.rank; i++)
    open |= dim_is_symbol(n->out[0]->shape.dim[i]);
  return open;
}

/* One warning names every operator that keeps the artifacts from running in ONNX Runtime. */
static void warn_of_ours(TrainletArtifacts *a, const Graph *g) {
  char names[256] = "";
  for (int i = 0; i < g->node_count; i++) {
    const Op *op = g->nodes[i]->op;
    size_t at = strlen(names);
    if (is_open_pool(g->nodes[i]) && !strstr(names, "MaxPoolGrad"))
      snprintf(names + at, sizeof names - at, "%sMaxPoolGrad of an unknown size", at ? ", " : "");
    else if (op->flags & OP_OURS && !strstr(names, op->name))
      snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", op->name);
  }
  size_t at = strlen(names);
  if (optimizer_model_is_ours(&a->optimizer))
    snprintf(names + at, sizeof names - at, "%s%s optimizer", at ? ", " : "", optimizer_name(a->optimizer.kind));
  if (*names) warn(a, "onnxruntime-web does not run these artifacts, it lacks: %s", names);
}

static Status build_train(TrainletArtifacts *a, bool *trained) {
  Arena arena = {0};
  Value *loss;
  Graph *g = forward_graph(a, true, &arena, &loss);
  Status status = g ? append_training(a, g, loss, trained) : a->error.status;
  if (status == STATUS_OK) status = write_graph(a, g, TRAINLET_TRAIN);
  if (status == STATUS_OK) warn_of_ours(a, g);
  arena_free(&arena);
  return status;
}

static Status build_eval(TrainletArtifacts *a) {
  Arena arena = {0};
  Value *loss;
  Graph *g = forward_graph(a, false, &arena, &loss);
  const char *outputs = g ? graph_list_names(a->model->outputs, a->model->output_count, "\n", &arena) : NULL;
  Status status = outputs ? graph_set_metadata(g, "trainlet.outputs", outputs)
                          : error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the eval model");
  if (status == STATUS_OK) status = write_graph(a, g, TRAINLET_EVAL);
  arena_free(&arena);
  return status;
}

/* ---- the training_info ---- */

static Status take_training_info(TrainletArtifacts *a) {
  char text[SENTENCE];
  if (!a->training.entries)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "the model holds no training_info, so a loss is needed: %s", listed(text, loss_name, NULL, "or"));
  if (a->loss_inputs.count)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "lossInputs goes with a loss of its own: the training_info's algorithm says what its loss is of");
  if (a->has_settings && !a->has_optimizer)
    return error_set(
        &a->error, STATUS_INVALID_ARGUMENT, NULL,
        "options of an optimizer need its type here: the training_info's own is taken whole or not at all");
  if (a->training.error.status != STATUS_OK) return a->error = a->training.error, a->error.status;
  TrainingInfo info;
  arena_free(&a->read);
  TRY(training_info_read(&a->training, a->initialize, a->has_optimizer, &a->read, &a->error, &info));
  TRY(list_add(a, &a->loss_inputs, info.loss->name));
  a->info = info;
  a->model = a->info.model;
  loss_named("none", &a->loss.kind);
  if (!a->has_optimizer) a->optimizer = a->info.optimizer;
  return STATUS_OK;
}

static CheckpointTensor moment_tensor(const Value *v, const char *name) {
  return (CheckpointTensor){name, v->type, v->shape, v->data, value_bytes(v)};
}

/* The state of the algorithm's optimizer. */
static Status add_optimizer_state(TrainletArtifacts *a, const bool *trained, Checkpoint *c) {
  int count = optimizer_moment_count(&a->optimizer);
  if (a->has_optimizer || a->nominal || !a->info.model || !count) return STATUS_OK;
  if (!(c->moments = ARENA_ARRAY(&a->building, CheckpointMoments, a->info.parameter_count)))
    return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the checkpoint");
  c->has_optimizer = true;
  c->step = a->info.steps;
  c->initial_learning_rate = c->learning_rate = a->optimizer.lr;
  for (int i = 0; i < a->model->value_count; i++) {
    const TrainedParameter *p = trained[i] ? trained_by_info(a, a->model->values[i]) : NULL;
    if (!p) continue;
    CheckpointMoments *m = &c->moments[c->moment_count++];
    *m = (CheckpointMoments){.parameter = p->value->name, .count = count};
    for (int k = 0; k < count; k++) m->moment[k] = moment_tensor(p->moment[k], k ? "momentum1" : "momentum0");
  }
  return STATUS_OK;
}

static Status build_checkpoint(TrainletArtifacts *a, const bool *trained) {
  Graph *m = a->model;
  CheckpointTensor *tensors[2] = {ARENA_ARRAY(&a->building, CheckpointTensor, m->value_count),
                                  ARENA_ARRAY(&a->building, CheckpointTensor, m->value_count)};
  int counts[2] = {0, 0};
  if (!tensors[0] || !tensors[1])
    return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the checkpoint");
  for (int i = 0; i < m->value_count; i++) {
    const Value *v = m->values[i];
    if (!mode_is_parameter(v)) continue;
    CheckpointTensor whole = {v->name, v->type, v->shape, v->data, value_bytes(v)};
    tensors[trained[i]][counts[trained[i]]++] = a->nominal ? (CheckpointTensor){.name = v->name, .type = v->type}
                                                           : whole;
  }
  Checkpoint c = {.nominal = a->nominal,
                  .trainable = tensors[1],
                  .trainable_count = counts[1],
                  .frozen = tensors[0],
                  .frozen_count = counts[0]};
  TRY(add_optimizer_state(a, trained, &c));
  return ort_checkpoint_write(&c, ORT_CHECKPOINT_NEWEST, &a->error, &a->bytes[TRAINLET_CHECKPOINT],
                              &a->lengths[TRAINLET_CHECKPOINT]);
}

static Status build(TrainletArtifacts *a) {
  if (!a->model)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "artifacts are made of a model, and none was loaded");
  if (a->by_training_info && !a->info.model) TRY(take_training_info(a));
  if (a->optimizer.nesterov && a->optimizer.momentum == 0)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                     "option optimizer.nesterov needs optimizer.momentum above 0");
  /* Adam without decay is AdamW without decay, for which ONNX Runtime has an operator. */
  if (a->optimizer.kind == OPTIMIZER_ADAM && a->optimizer.weight_decay == 0) a->optimizer.kind = OPTIMIZER_ADAMW;
  TRY(check_patterns(a, "requiresGrad", &a->requires_grad));
  TRY(check_patterns(a, "frozen", &a->frozen));
  bool *trained = ARENA_ARRAY(&a->building, bool, a->model->value_count);
  if (!trained) return error_set(&a->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the artifacts");
  TRY(build_train(a, trained));
  TRY(build_eval(a));
  TRY(optimizer_model_write(&a->optimizer, &a->error, &a->bytes[TRAINLET_OPTIMIZER], &a->lengths[TRAINLET_OPTIMIZER]));
  return build_checkpoint(a, trained);
}

static void forget_parts(TrainletArtifacts *a) {
  for (int i = 0; i < 4; i++) {
    block_free(&a->bytes[i]);
    a->lengths[i] = 0;
  }
  a->warnings = NULL;
  a->warned = a->warned_capacity = 0;
  arena_free(&a->building);
}

Status trainlet_artifacts_build(TrainletArtifacts *a) {
  enter(a);
  forget_parts(a);
  Status status = build(a);
  if (status != STATUS_OK || budget_missed()) forget_parts(a);
  return leave(a, status == STATUS_OK);
}
