/* Embedding bag: a Loop in which PyTorch's exporters write nn.EmbeddingBag, one iteration a bag. */
#pragma once
#include "graph/op.h"

/* Fills c->out by segment sums instead of iterations, which have gradients and take any number of bags; *found is false
 * if the Loop is none. The exporter by dynamo says so in a note, which the reader makes the attribute `embedding_bag`:
 * the mode, and the row that is padding; TorchScript's Loop is known by its nodes. */
Status embedding_bag_expand(Expansion *c, bool *found);
