/* Loss: the nodes that turn a model's scores and the labels into one number. */
#pragma once
#include "arena.h"
#include "graph/graph.h"

typedef struct LossOptions {
  int kind;             /* the index of its row; 0: cross-entropy */
  bool sum;             /* reduction: sum instead of mean */
  const float *weights; /* cross-entropy: one weight for each class; NULL for none */
  int weight_count;
  Block weight_memory;
  bool has_ignore_index; /* cross-entropy: labels with this value are ignored */
  int64_t ignore_index;
  bool sample_weights;   /* an input more: by which each example counts */
  float label_smoothing; /* cross-entropy: the share of a label that all classes have alike, from 0 to 1 */
  int class_axis;        /* cross-entropy: 1, or -1 for the last; 0: as the scores' layer tells (train/class_axis.h) */
  bool logs;             /* cross-entropy: the scores are logarithms of probabilities; set by loss_append */
  float delta;           /* huber: beyond it the loss is linear */
  /* For one loss of several: */
  const char *input; /* the value that it is taken of; NULL: the model's first output */
  const char *label; /* the name of its labels; NULL: as of a loss alone */
  float weight;      /* in their sum */
} LossOptions;

#define OUTPUTS_KEY "trainlet.outputs"             /* metadata of an eval graph: the model's own outputs, one a line */
#define SAMPLE_WEIGHT_KEY "trainlet.sample_weight" /* metadata of a graph: the name of that input */

const char *loss_name(int kind); /* "cross-entropy" …, "none", "outside"; NULL past the last */
bool loss_named(const char *name, int *kind);
/* The graph has none: gradients come for the model's outputs from outside (train/yield.h). */
bool loss_is_outside(const LossOptions *options);
/* Appends the loss of `scores`, a value of the model that g is a copy of (mode_copy), to g; that of "none" is the
 * scores themselves. Probabilities that cross-entropy or bce-with-logits is given are replaced by the scores before
 * their activation, where these are known (train/scores.h). A label input is made (`labels`: int64, the scores' shape
 * without its class dimension; `target`: float32, the scores' shape). NULL on failure; g->error has the sentence. */
Value *loss_append(Graph *g, const LossOptions *options, const Value *scores);
/* The Softmax or Sigmoid that makes the scores probabilities, though the loss has one itself, and scores before it are
 * not known; NULL: there is none. */
const Node *loss_second_activation(const LossOptions *options, const Value *scores);
/* Refuses a loss, called by its name, that is not one number. */
Status loss_check_scalar(Graph *g, const Value *loss);
/* Appends Σ weight · part: `loss`, and each part as `<input>_loss`. */
Value *loss_append_sum(Graph *g, const LossOptions *options, Value *const *parts, int count);
