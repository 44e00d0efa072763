/* Scores: what a model's probabilities were before their last activation, for the losses that apply one themselves. */
#pragma once
#include "graph/graph.h"

/* Scores whose softmax along `axis`, or whose sigmoid where that is -1, is v; NULL: none are known. g is a copy of the
 * model of v (mode_copy), to which the nodes are added that they need. logs: they are the logarithms of v, which
 * need not add up to 1, to be taken without a softmax. */
Value *scores_before(Graph *g, const Value *v, int axis, bool *logs);
/* The Softmax or Sigmoid that makes v probabilities; NULL: there is none. known: so are the scores before it. */
const Node *scores_activation(const Value *v, int axis, bool *known);
