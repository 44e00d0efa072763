/* Warnings: what is worth knowing about artifacts that were made, a sentence a line. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"
#include "artifacts/artifacts.h"
#include "train/buffer.h"
#include "train/mode.h"
#include "model/untie.h"

enum { WARNING_MAX = 768, LIST_MAX = 480, ITEM_MAX = 240, NAMED_MAX = 3 };

static bool add_letter(TrainletArtifacts *a, char letter) {
  char *grown = arena_list_grow(&a->building, a->warnings, a->warned, &a->warned_capacity, 1);
  if (!grown) return false;
  a->warnings = grown;
  grown[a->warned++] = letter;
  return true;
}

/* One for which there is no room is left out. */
void artifacts_warn(TrainletArtifacts *a, const char *format, ...) {
  char sentence[WARNING_MAX];
  int start = a->warned;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  bool fits = true;
  for (const char *letter = sentence; fits && *letter; letter++) fits = add_letter(a, *letter);
  fits = fits && add_letter(a, '\n') && add_letter(a, '\0');
  a->warned = fits ? a->warned - 1 : start;
  if (a->warnings) a->warnings[a->warned] = '\0';
}

/* Its MaxPoolGrad must know the shape of dx, except for the batch. */
static bool is_open_pool(const Node *n) {
  bool open = false;
  for (int i = 1; n->op == &op_max_pool_grad && i < n->out[0]->shape.rank; i++)
    open |= dim_is_symbol(n->out[0]->shape.dim[i]);
  return open;
}

/* One warning names every operator that ONNX Runtime has, but cannot run as it is here; what it lacks cannot be in an
 * .ort file at all. */
void artifacts_warn_of_ours(TrainletArtifacts *a, const Graph *g) {
  char names[256] = "";
  for (int i = 0; i < g->node_count; i++) {
    const Op *op = g->nodes[i]->op;
    size_t at = strlen(names);
    if (is_open_pool(g->nodes[i]) && !strstr(names, "MaxPoolGrad"))
      snprintf(names + at, sizeof names - at, "%sMaxPoolGrad of an unknown size", at ? ", " : "");
    else if (op->flags & OP_OURS && !strstr(names, op->name))
      snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", op->name);
  }
  if (*names) artifacts_warn(a, "onnxruntime-web does not run these artifacts, it lacks: %s", names);
}

void artifacts_warn_of_opset(TrainletArtifacts *a) {
  const char *warning = graph_opset_warning(a->model, &a->building);
  if (warning) artifacts_warn(a, "%s", warning);
}

void artifacts_warn_of_batch(TrainletArtifacts *a, const Node *why) {
  char title[TITLE_TEXT];
  if (!why) artifacts_warn(a, "the model was exported with a fixed batch, which is free now (batch: 'fixed' keeps it)");
  else
    artifacts_warn(
        a,
        "the model was exported with a fixed batch, and %s keeps that from being changed: export it with a free batch "
        "(dynamic_shapes, or dynamic_axes, of torch.onnx.export)",
        node_title(why, title));
}

/* ---- which parameters train ---- */

static void list(char text[LIST_MAX], int at_most, int count, const char *item) {
  size_t at = strlen(text);
  if (count <= at_most) snprintf(text + at, LIST_MAX - at, "%s%s", count > 1 ? ", " : "", item);
}

/* TorchScript's exporter computes whole numbers from sizes, others from parameters. */
static bool is_computed_number(const Value *v) {
  float x = shape_elements(&v->shape) == 1 ? *(const float *)v->data : 0;
  return strncmp(v->name, "onnx::", 6) == 0 && x != floorf(x);
}

/* A number, or what is done to the inputs at first, under a name that a converter made up: no layer has learned it. */
static bool is_converters(const Readings *all, const Value *v) {
  static const char *const made[] = {"const", "unity", "dpa_scale", "lifted_"}; /* jax2onnx, skl2onnx, Keras */
  const char *name = v->computed_from ? v->computed_from : v->name;
  bool early = shape_elements(&v->shape) == 1, named = strstr(name, "cst"); /* Mu_Mulcst */
  for (int i = 0; i < all->count; i++) early |= all->items[i].early;
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) named |= strncmp(name, made[i], strlen(made[i])) == 0;
  return named && early && v->note == NOTE_NONE;
}

/* A single number may be one that a model learns only where an operator learns others, not as Dropout's ratio. */
static bool may_be_learned(const Readings *all, const Value *v) {
  static const char made[] = "val_"; /* PyTorch's exporter calls so what it made up itself, as a first state of zeros */
  if (v->note == NOTE_NO_PARAMETER || strncmp(v->name, made, strlen(made)) == 0 || is_converters(all, v)) return false;
  bool may = shape_elements(&v->shape) > 1 || !all->count || v->note == NOTE_ATTRIBUTE || is_computed_number(v);
  for (int i = 0; i < all->count; i++) may |= weights_says(all->items[i].node->op);
  return may;
}

/* True if the model itself, not an option, keeps the value from training. */
static bool is_left_out(const TrainletArtifacts *a, const Value *v, bool trained) {
  bool is_free = mode_is_parameter(v) && !trained && !v->statistic && !v->quantized &&
                 !names_match(&a->frozen, v->name);
  if (a->requires_grad.count) return is_free && names_match(&a->requires_grad, v->name);
  return is_free && may_be_learned(&a->weights.of[v->index], v) &&
         (v->note == NOTE_PARAMETER || !buffer_by_contents(&a->weights, v));
}

static void describe(const TrainletArtifacts *a, const Value *v, char text[], size_t room) {
  const Readings *all = &a->weights.of[v->index];
  const Reading *last = all->count ? &all->items[all->count - 1] : NULL;
  const char *flaw = a->weights.infinite[v->index] ? "not finite, " : buffer_is_waves(&a->weights, v) ? "sines, " : "";
  char title[TITLE_TEXT];
  if (!last) snprintf(text, room, "'%.64s' (%sread by no operator)", v->name, flaw);
  else
    snprintf(text, room, "'%.64s' (%s%s of %s)", v->name, flaw, read_as_name(last->as), node_title(last->node, title));
}

typedef bool Listed(const TrainletArtifacts *a, const Value *v, bool trained);

/* Writes the first listed values into `names` and returns the number of all. */
static int list_all(const TrainletArtifacts *a, const bool *trained, Listed *is_listed, char names[LIST_MAX]) {
  char item[ITEM_MAX];
  int count = 0;
  *names = '\0';
  for (int i = 0; i < a->model->value_count; i++) {
    if (!is_listed(a, a->model->values[i], trained[i])) continue;
    describe(a, a->model->values[i], item, sizeof item);
    list(names, NAMED_MAX, ++count, item);
  }
  size_t at = strlen(names);
  if (count > NAMED_MAX) snprintf(names + at, LIST_MAX - at, " and %d more", count - NAMED_MAX);
  return count;
}

static void warn_of_left_out(TrainletArtifacts *a, const bool *trained) {
  char names[LIST_MAX];
  int count = list_all(a, trained, is_left_out, names);
  if (count && a->requires_grad.count) artifacts_warn(a, "not trained, though requiresGrad matches it: %s", names);
  else if (count)
    artifacts_warn(
        a,
        "not trained, for nothing in the file says that a layer learns it: %s; to train it all the same, name it in "
        "requiresGrad with all else that is to train",
        names);
}

/* A buffer that is added to what a product gives reads as its bias, but has the rank of that. */
static bool may_be_added(const Reading *r, const Value *v) {
  if (r->as != READ_BIAS || v->shape.rank < 2) return false;
  const Node *from = r->node->in[r->node->in[0] == v]->producer;
  return from && from->op->weights;
}

/* Told by its name alone, which a buffer could have too, as a fixed kernel or projection. */
static bool is_guessed(const TrainletArtifacts *a, const Value *v, bool trained) {
  const Reading *r = weights_learned(&a->weights, v);
  return trained && !a->requires_grad.count && weights_may_be_learned(&a->weights, v) &&
         (!r || r->as == READ_WEIGHT || may_be_added(r, v)) && !buffer_is_none(v);
}

static void warn_of_guessed(TrainletArtifacts *a, const bool *trained) {
  char names[LIST_MAX];
  if (list_all(a, trained, is_guessed, names))
    artifacts_warn(a,
                   "trained, though the file does not say whether it is a parameter or a buffer: %s; to keep it as it "
                   "is, name it in frozen",
                   names);
}

static void warn_of_shared(TrainletArtifacts *a, const bool *trained) {
  Shared s = {0};
  if (!a->keeps_merged) s = untie_find(a->model, &a->weights, trained);
  if (s.copies)
    artifacts_warn(
        a,
        "the exporter made one parameter of several that began equal, such as '%.100s', the %s of %d layers; with "
        "untie: true each layer has its own, %d parameters more",
        s.example->name, read_as_name(s.as), s.readers, s.copies);
}

/* Options by which PyTorch's two exporters leave parameters as they are. */
static const char as_in_training[] = "optimize=False of torch.onnx.export after model.train()";
static const char unfolded[] = "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False";

/* PyTorch's TorchScript exporter names so what it computed, a bias only where it folded; its exporter by dynamo says
 * what it did. */
static const Value *find_folded(const TrainletArtifacts *a, const bool *trained) {
  static const char made[] = "onnx::Conv_";
  const Value *first = a->model->folded ? graph_find(a->model, a->model->folded) : NULL;
  if (first) return trained[first->index] ? first : NULL;
  for (int i = a->model->node_count - 1; i >= 0; i--) {
    const Node *n = a->model->nodes[i];
    const Value *w = n->op == &op_conv ? n->in[1] : NULL, *bias = w && n->in_count > 2 ? n->in[2] : NULL;
    if (bias && trained[w->index] && strncmp(bias->name, made, strlen(made)) == 0) first = w;
  }
  return first;
}

static void warn_of_folded(TrainletArtifacts *a, const bool *trained) {
  const Value *first = find_folded(a, trained);
  char layer[ITEM_MAX];
  if (first) describe(a, first, layer, sizeof layer);
  if (first)
    artifacts_warn(a,
                   "the exporter folded BatchNormalization into other layers, such as %s; to train with it, export "
                   "with %s",
                   layer, a->model->folded ? as_in_training : unfolded);
}

/* Keras through TorchScript: (x - mean) · factor, both computed. */
static void warn_of_factors(TrainletArtifacts *a, const bool *trained) {
  static const char mean[] = "onnx::Sub_", factor[] = "onnx::Mul_";
  for (int i = 0; i < a->model->node_count; i++) {
    const Node *n = a->model->nodes[i], *before = n->op == &op_mul ? n->in[0]->producer : NULL;
    if (!before || before->op != &op_sub || !trained[n->in[1]->index]) continue;
    if (strncmp(n->in[1]->name, factor, strlen(factor)) != 0) continue;
    if (strncmp(before->in[1]->name, mean, strlen(mean)) != 0) continue;
    artifacts_warn(a,
                   "the exporter wrote BatchNormalization as in inference: it trains as a factor, '%.100s', and sums, "
                   "without the statistics of batches",
                   n->in[1]->name);
    return;
  }
}

/* Warns that values which the exporter computed from parameters train as they are, and parameters that were used for
 * such values too. */
static void warn_of_computed(TrainletArtifacts *a, const bool *trained) {
  const Value *first = NULL;
  int count = 0;
  for (int i = 0; i < a->model->value_count; i++) {
    const Value *v = a->model->values[i];
    const Value *from = v->computed_from ? graph_find(a->model, v->computed_from) : NULL;
    if (!trained[i] || !(v->computed_changed || (from && from != v))) continue;
    if (!count++) first = v;
  }
  char from[ITEM_MAX];
  if (!count) return;
  if (first->computed_from)
    snprintf(from, sizeof from, "'%.100s' from the parameter '%.100s'", first->name, first->computed_from);
  else describe(a, first, from, sizeof from);
  artifacts_warn(a,
                 "the exporter computed %s, and the result trains in its place (%d such); to train parameters "
                 "themselves, export with %s",
                 from, count, first->computed_from ? as_in_training : unfolded);
}

/* Lost in a step that changes nothing yet, as a product with one, or together with others that are equal. */
static void warn_of_lost(TrainletArtifacts *a) {
  if (a->model->lost)
    artifacts_warn(a,
                   "the file has lost the parameter '%.100s' (%d such): nothing uses it, or the exporter left it out, "
                   "for it began as one, zero or equal to another; to train it, export with %s",
                   a->model->lost, a->model->lost_count, as_in_training);
}

void artifacts_warn_of_parameters(TrainletArtifacts *a, const bool *trained) {
  if (a->by_training_info) return;
  warn_of_left_out(a, trained);
  warn_of_guessed(a, trained);
  warn_of_shared(a, trained);
  warn_of_folded(a, trained);
  warn_of_factors(a, trained);
  warn_of_computed(a, trained);
  warn_of_lost(a);
}
