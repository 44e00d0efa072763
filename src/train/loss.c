/* Losses as ONNX nodes: each is a row of a table. */
#include "train/loss.h"

#include <string.h>

#include "graph/expansion.h"
#include "graph/op.h"
#include "part.h"
#include "train/class_axis.h"
#include "train/scores.h"

static Value *label_input(Graph *g, const LossOptions *o, const char *stem, DType type, const Shape *shape) {
  if (o->label && graph_find(g, o->label)) {
    error_set(g->error, STATUS_INVALID_ARGUMENT, NULL, "label '%.200s': a value of that name is there already",
              o->label);
    return NULL;
  }
  const char *name = o->label ? o->label : graph_stable_name(g, stem);
  Value *v = name ? graph_value(g, name, type, shape, VALUE_INPUT) : NULL;
  return v && graph_add_input(g, v) == STATUS_OK ? v : NULL;
}

static bool classes_are_last(const LossOptions *o, const Value *scores) {
  return o->class_axis ? o->class_axis < 0 : class_axis_is_last(scores);
}

/* Scores (N, …, C) and labels (N, …) as (N · …, C) and (N · …): ONNX wants classes along axis 1. */
static void make_rows(Graph *g, Value **scores, Value **labels) {
  *scores = emit_with(g, "Flatten", ATTRS(attr_of_int("axis", (*scores)->shape.rank - 1)), *scores);
  *labels = emit(g, "Reshape", *labels, emit_ints(g, (int64_t[]){-1}, 1));
}

/* Replaces weights of 0 by tiny ones: smoothing gives such a label w[l] times a w[l]th. */
static float *weights_above_0(Graph *g, const LossOptions *o) {
  float *weights = ARENA_ARRAY(g->arena, float, o->weight_count);
  for (int k = 0; weights && k < o->weight_count; k++) weights[k] = o->weights[k] == 0 ? 1e-20f : o->weights[k];
  return weights;
}

/* The weights to the power 1 or -1, times `scale`, along axis 1 of the scores. */
static Value *along_classes(Graph *g, const LossOptions *o, const Value *scores, int power, float scale) {
  float *numbers = weights_above_0(g, o);
  if (!numbers) return NULL;
  for (int k = 0; k < o->weight_count; k++) numbers[k] = scale * (power > 0 ? numbers[k] : 1 / numbers[k]);
  Shape shape = {.rank = scores->shape.rank - 1, .dim = {o->weight_count}};
  for (int i = 1; i < shape.rank; i++) shape.dim[i] = 1;
  return emit_floats(g, numbers, &shape);
}

/* ε/C · Σ_k w[k]·p[k] / w[l], w being 1 without weights */
static Value *spread(Graph *g, const LossOptions *o, Value *p) {
  static const int64_t classes = 1;
  Expansion c = {.graph = g};
  if (!p) return NULL;
  if (!o->weights)
    return emit(g, "Mul", expand_reduce(&c, "ReduceMean", p, &classes, 1, true), emit_float(g, o->label_smoothing));
  Value *weighted = emit(g, "Mul", p, along_classes(g, o, p, 1, 1));
  Value *sum = expand_reduce(&c, "ReduceSum", weighted, &classes, 1, true);
  return emit(g, "Mul", sum, along_classes(g, o, p, -1, o->label_smoothing / (float)o->weight_count));
}

/* p = log softmax(scores) and q[l] = (1−ε)·p[l] + ε/C · Σ_k w[k]·p[k] / w[l], whose likelihood loss −Σ w[l]·q[l] / Σ
 * w[l] is PyTorch's CrossEntropyLoss with label_smoothing ε. */
static Value *smoothed(Graph *g, const LossOptions *o, Value *scores) {
  Value *p = o->logs ? scores : emit_with(g, "LogSoftmax", ATTRS(attr_of_int("axis", 1)), scores);
  return emit(g, "Add", emit(g, "Mul", p, emit_float(g, 1 - o->label_smoothing)), spread(g, o, p));
}

/* ---- weights of examples ---- */

static Value *sample_weights(Graph *g, const Shape *shape) {
  const char *name = graph_stable_name(g, "sample_weight");
  Value *v = name ? graph_value(g, name, DTYPE_FLOAT32, shape, VALUE_INPUT) : NULL;
  if (!v || graph_add_input(g, v) != STATUS_OK) return NULL;
  return graph_set_metadata(g, SAMPLE_WEIGHT_KEY, name) == STATUS_OK ? v : NULL;
}

/* Σ w·l / Σ w, and 0 where nothing weighs anything */
static Value *weighted_mean(Graph *g, Value *each, Value *weights) {
  AttrList whole = ATTRS(attr_of_int("keepdims", 0));
  Value *sum = emit_with(g, "ReduceSum", whole, emit(g, "Mul", each, weights));
  return emit(g, "Div", sum, emit(g, "Max", emit_with(g, "ReduceSum", whole, weights), emit_float(g, 1e-30f)));
}

/* ---- cross-entropy ---- */

static bool check_classes(Graph *g, const LossOptions *o, const Value *scores) {
  char text[SHAPE_TEXT], title[TITLE_TEXT];
  value_title(scores, title);
  if (scores->shape.rank < 2)
    return error_set(g->error, STATUS_INVALID_ARGUMENT, NULL, "cross-entropy needs scores of shape (N, C, …), %s is %s",
                     title, shape_print(&scores->shape, text)),
           false;
  bool last = scores->shape.rank > 2 && classes_are_last(o, scores);
  Dim classes = scores->shape.dim[last ? scores->shape.rank - 1 : 1];
  if (!o->weights || !dim_is_number(classes) || classes == o->weight_count) return true;
  error_set(g->error, STATUS_INVALID_ARGUMENT, NULL,
            "cross-entropy has %d class weights, the scores %s have %lld classes", o->weight_count, title,
            (long long)classes);
  return false;
}

/* loss = −Σ w[l]·log softmax(scores)[l] / Σ w[l]   (ONNX SoftmaxCrossEntropyLoss), or of each label */
static Value *likelihood(Graph *g, const LossOptions *o, Value *scores, Value *labels) {
  bool smooth = o->label_smoothing > 0, logs = smooth || o->logs;
  Value *in[3] = {smooth ? smoothed(g, o, scores) : scores, labels, NULL};
  if (o->weights) {
    Shape weights = SHAPE(o->weight_count);
    in[2] = graph_constant(g, graph_fresh_name(g, "loss_weights"), DTYPE_FLOAT32, &weights,
                           smooth ? weights_above_0(g, o) : o->weights);
  }
  const char *reduction = o->sample_weights ? "none" : o->sum ? "sum" : "mean";
  Attr attrs[2] = {attr_of_string("reduction", reduction), attr_of_int("ignore_index", o->ignore_index)};
  Node *n = emit_node(g, logs ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss",
                      (AttrList){attrs, o->has_ignore_index ? 2 : 1}, in, o->weights ? 3 : 2, logs ? 1 : 2, NULL);
  return n ? n->out[0] : NULL;
}

static Value *cross_entropy(Graph *g, const LossOptions *o, Value *scores) {
  if (!check_classes(g, o, scores)) return NULL;
  bool rows = scores->shape.rank > 2 && classes_are_last(o, scores);
  Shape shape = scores->shape;
  shape.rank--;
  for (int i = 1; i < shape.rank && !rows; i++) shape.dim[i] = shape.dim[i + 1];
  Value *labels = label_input(g, o, "labels", DTYPE_INT64, &shape);
  Value *weights = labels && o->sample_weights ? sample_weights(g, &shape) : NULL;
  if (labels && rows) make_rows(g, &scores, &labels);
  if (weights && rows) weights = emit(g, "Reshape", weights, emit_ints(g, (int64_t[]){-1}, 1));
  Value *loss = likelihood(g, o, scores, labels);
  if (!o->sample_weights) return loss;
  if (o->has_ignore_index)
    weights = emit(g, "Where", emit(g, "Equal", labels, emit_int(g, o->ignore_index)), emit_float(g, 0), weights);
  return weighted_mean(g, loss, weights);
}

/* ---- losses of numbers ---- */

/* The mean over examples of the mean of each example's elements. */
static Value *mean_of_examples(Graph *g, Value *each) {
  Value *weights = each ? sample_weights(g, &(Shape){.rank = 1, .dim = {each->shape.dim[0]}}) : NULL;
  int64_t axes[RANK_MAX];
  for (int i = 1; each && i < each->shape.rank; i++) axes[i - 1] = i;
  if (each && each->shape.rank > 1)
    each = expand_reduce(&(Expansion){.graph = g}, "ReduceMean", each, axes, each->shape.rank - 1, false);
  return weighted_mean(g, each, weights);
}

static Value *reduce(Graph *g, const LossOptions *o, Value *each) {
  if (o->sample_weights) return mean_of_examples(g, each);
  return emit_with(g, o->sum ? "ReduceSum" : "ReduceMean", ATTRS(attr_of_int("keepdims", 0)), each);
}

/* The others compare scores and targets element by element. */
static Value *target_of(Graph *g, const LossOptions *o, const Value *scores) {
  return label_input(g, o, "target", DTYPE_FLOAT32, &scores->shape);
}

/* (x − z)² */
static Value *mse(Graph *g, const LossOptions *o, Value *scores) {
  Value *difference = emit(g, "Sub", scores, target_of(g, o, scores));
  return reduce(g, o, emit(g, "Mul", difference, difference));
}

/* max(x, 0) − x·z + log(1 + e^−|x|) = softplus(x) − x·z   (PyTorch's BCEWithLogitsLoss) */
static Value *bce_with_logits(Graph *g, const LossOptions *o, Value *scores) {
  Value *target = target_of(g, o, scores);
  return reduce(g, o, emit(g, "Sub", emit(g, "Softplus", scores), emit(g, "Mul", scores, target)));
}

/* |x − z| */
static Value *l1(Graph *g, const LossOptions *o, Value *scores) {
  return reduce(g, o, emit(g, "Abs", emit(g, "Sub", scores, target_of(g, o, scores))));
}

/* d = x − z, c = d cut off at ±δ:  c·(d − c/2), d²/2 within and δ·(|d| − δ/2) beyond   (PyTorch's HuberLoss) */
static Value *huber(Graph *g, const LossOptions *o, Value *scores) {
  Value *difference = emit(g, "Sub", scores, target_of(g, o, scores));
  Value *cut = emit(g, "Clip", difference, emit_float(g, -o->delta), emit_float(g, o->delta));
  Value *half = emit(g, "Mul", cut, emit_float(g, 0.5f));
  return reduce(g, o, emit(g, "Mul", cut, emit(g, "Sub", difference, half)));
}

/* The scores are the loss. */
static Value *none(Graph *g, const LossOptions *o, Value *scores) { return (void)g, (void)o, scores; }

typedef struct LossRow {
  const char *name;
  Value *(*const volatile *append)(Graph *g, const LossOptions *o, Value *scores); /* a part */
} LossRow;

OPTIONAL(loss_cross_entropy, cross_entropy);
OPTIONAL(loss_mse, mse);
OPTIONAL(loss_bce_with_logits, bce_with_logits);
OPTIONAL(loss_l1, l1);
OPTIONAL(loss_huber, huber);
OPTIONAL(loss_none, none);

static const LossRow rows[] = {
    {"cross-entropy", &part_loss_cross_entropy},
    {"mse", &part_loss_mse},
    {"bce-with-logits", &part_loss_bce_with_logits},
    {"l1", &part_loss_l1},
    {"huber", &part_loss_huber},
    {"none", &part_loss_none},
    {"outside", NULL},
};

const char *loss_name(int kind) { return kind < (int)(sizeof rows / sizeof *rows) ? rows[kind].name : NULL; }

bool loss_named(const char *name, int *kind) {
  for (int i = 0; loss_name(i); i++)
    if (strcmp(loss_name(i), name) == 0) return *kind = i, true;
  return false;
}

bool loss_is_outside(const LossOptions *o) { return !rows[o->kind].append; }

static bool has_classes(const LossOptions *o) { return rows[o->kind].append == &part_loss_cross_entropy; }

/* Names a combination of options that has no meaning or a second one; NULL if there is none. */
static const char *contradiction(const LossOptions *o, const Value *scores) {
  if (o->label_smoothing > 0 && !has_classes(o)) return "labelSmoothing is of cross-entropy";
  if (!o->sample_weights) return NULL;
  if (rows[o->kind].append == &part_loss_none) return "sampleWeights need a loss that is not the model's own";
  if (o->sum) return "sampleWeights make a mean, so the reduction cannot be sum";
  if (o->weights) return "sampleWeights and weights: give those of classes to fit, as classWeight";
  return scores->shape.rank < 1 ? "sampleWeights need scores with a dim for the examples" : NULL;
}

/* Along which axis of the scores the classes are; -1: there are none. */
static int axis_of_classes(const LossOptions *o, const Value *scores) {
  if (!has_classes(o)) return -1;
  return scores->shape.rank > 2 && classes_are_last(o, scores) ? scores->shape.rank - 1 : 1;
}

/* True if the loss has a softmax or sigmoid. */
static bool has_activation(const LossOptions *o) {
  return has_classes(o) || rows[o->kind].append == &part_loss_bce_with_logits;
}

const Node *loss_second_activation(const LossOptions *o, const Value *scores) {
  bool known;
  const Node *activation = scores_activation(scores, axis_of_classes(o, scores), &known);
  return has_activation(o) && !known ? activation : NULL;
}

/* Probabilities are replaced by the scores before their activation, which the loss has itself. */
static Value *scores_for(Graph *g, LossOptions *o, const Value *from) {
  int axis = axis_of_classes(o, from);
  Value *before = has_activation(o) ? scores_before(g, from, axis, &o->logs) : NULL;
  o->class_axis = axis == 1 ? 1 : -1;
  return before ? before : from->copy;
}

Value *loss_append(Graph *g, const LossOptions *options, const Value *from) {
  LossOptions with = *options, *o = &with;
  Value *scores = scores_for(g, o, from);
  const char *wrong = contradiction(o, scores);
  if (wrong) return error_set(g->error, STATUS_INVALID_ARGUMENT, NULL, "loss %s: %s", rows[o->kind].name, wrong), NULL;
  if (!*rows[o->kind].append) return part_missing(g->error, rows[o->kind].name), NULL;
  if (g->error->status != STATUS_OK) return NULL;
  if (dtype_is_float(scores->type) && scores->type != DTYPE_FLOAT32)
    scores = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), scores);
  if (!scores || scores->type == DTYPE_FLOAT32) return scores ? (*rows[o->kind].append)(g, o, scores) : NULL;
  char title[TITLE_TEXT];
  error_set(g->error, STATUS_INVALID_ARGUMENT, NULL, "the loss needs float32 scores, %s is %s",
            value_title(scores, title), dtype_name(scores->type));
  return NULL;
}

Status loss_check_scalar(Graph *g, const Value *loss) {
  char text[SHAPE_TEXT], title[TITLE_TEXT];
  if (loss->shape.rank < 1 || (loss->shape.rank == 1 && loss->shape.dim[0] == 1)) return STATUS_OK;
  return error_set(g->error, STATUS_INVALID_ARGUMENT, NULL, "the loss %s must be one number, it is %s",
                   value_title(loss, title), shape_print(&loss->shape, text));
}

Value *loss_append_sum(Graph *g, const LossOptions *options, Value *const *parts, int count) {
  Value *sum = NULL;
  for (int i = 0; i < count; i++) {
    Value *weighted = emit(g, "Mul", parts[i], emit_float(g, options[i].weight));
    sum = i ? emit(g, "Add", sum, weighted) : weighted;
  }
  return sum;
}
