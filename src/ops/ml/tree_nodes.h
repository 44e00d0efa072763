/* Tree nodes: the attributes nodes_* that TreeEnsembleClassifier and TreeEnsembleRegressor share, in which leaves are
 * nodes too, told by the numbers of their tree and of the node. */
#pragma once
#include "ops/ml/forest.h"

/* `what` is "class" or "target", with which the attributes of the leaves begin. The forest's targets are classes. */
Status tree_nodes_read(const Node *n, const char *what, Arena *arena, ForestSource *out);
