/* Cross-entropy of class scores (N, C, d…) against labels (N, d…): what SoftmaxCrossEntropyLoss, its Internal form,
 * which has ignore_index as an input, their gradients and NegativeLogLikelihoodLoss share.
 *
 *   loss of a place = w[label]·(log Σ e^x - x[label]), 0 where label = ignore_index
 *   mean divides by Σ w over the places that are not ignored (by 1 when that is 0)
 *
 * A label that is neither a class nor ignore_index makes its loss, its gradient, and any mean or sum of them NaN. */
#pragma once
#include "graph/op.h"

/* (scores, labels, weights?, ignore_index?) → (loss, log_prob?) */
Status cross_entropy_infer(Node *n);
void cross_entropy_run(const Node *n);
Counted cross_entropy_counted(const Node *n);
/* Counts alone, for a run that is computed elsewhere; the labels and weights are at hand. */
void cross_entropy_count(const Node *n);
/* An operator's own: it takes log-probabilities, not scores, and has no second output. */
extern const char cross_entropy_of_log_probabilities;
/* Emits `op_name` on log_prob, which the node gets if it lacks it. */
Status cross_entropy_grad(Grad *g, const char *op_name);

/* (dy, log_prob, labels, weights?, ignore_index?) → dscores = (e^log_prob - [class is label])·w[label]·dy, over Σ w for
 * mean */
Status cross_entropy_gradient_infer(Node *n);
void cross_entropy_gradient_run(const Node *n);
