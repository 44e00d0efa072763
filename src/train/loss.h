/* Loss: the nodes that turn a model's scores and the labels into one number. */
#pragma once
#include "graph/graph.h"

typedef enum LossKind { LOSS_CROSS_ENTROPY, LOSS_MSE, LOSS_BCE_WITH_LOGITS, LOSS_L1, LOSS_HUBER, LOSS_NONE } LossKind;

typedef struct LossOptions {
  LossKind kind;
  bool sum; /* reduction: sum instead of mean */
  const float *weights; /* cross-entropy: one weight a class; NULL for none */
  int weight_count;
  bool has_ignore_index; /* cross-entropy: labels of this value do not count */
  int64_t ignore_index;
  float delta; /* huber: beyond it the loss is linear */
} LossOptions;

const char *loss_name(int kind); /* "cross-entropy" …; NULL past the last */
bool loss_named(const char *name, LossKind *out);
/* Appends the loss of `scores` to g. A label input is made (`labels`: int64, the scores' shape without its class dimension 1;
 * `target`: float32, the scores' shape). NULL on failure; g->error has the sentence. */
Value *loss_append(Graph *g, const LossOptions *options, Value *scores);
