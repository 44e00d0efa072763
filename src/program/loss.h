/* Loss: what the loss of a run has counted, and labels that are no class of it (Op.counted). */
#pragma once
#include "program/plan.h"

/* The weight of a run in a mean over runs. */
typedef struct LossCount {
  double weight; /* -1: the graph does not say */
  bool sum;      /* the loss is a sum over what it has counted, not its mean */
} LossCount;

/* The nodes of the program, up to a YieldOp, that compare scores with labels, into `losses` unless that is NULL; gives
 * how many. */
int loss_list(const Program *p, const Node **losses);
bool loss_compares(const Node *n); /* that it is such a node */
/* The labels that such a node compares with, as they were fed, not in another shape. */
const Value *loss_labels(const Node *n);
/* After a run, or its forward half: refuses the first label that is no class; of one of the nodes; of all. */
Status loss_check(const Node *n, const Value *labels, Error *error);
Status loss_check_labels(const Program *p, Error *error);
/* After a run of the bound graph: of this value, which is its loss or, of several, one. */
LossCount loss_count(const Graph *g, const Value *loss, bool one_of_several);

enum { LOSS_PARTS_MAX = 256 };

/* One of the losses whose weighted sum is the first output. */
typedef struct LossPart {
  const Value *value; /* an output, too */
  double weight;
} LossPart;

/* For a graph that may be unbound. */
int loss_part_count(const Graph *g);       /* 0 where the loss is no such sum, or of more than LOSS_PARTS_MAX */
LossPart loss_part(const Graph *g, int i); /* from the last */
bool loss_is_part(const Graph *g, const Value *v);
bool loss_is_cross_entropy(const Graph *g);
bool loss_is_difference(const Graph *g); /* mse, l1, huber: scores minus a target of numbers */
/* The node that compares scores with this input, as it is or in another shape; NULL where the labels are no input, or
 * the input no labels. */
const Node *loss_of_labels(const Graph *g, const Value *input);
/* The scores that are compared with labels; NULL where there are none. */
const Value *loss_scores(const Graph *g);
