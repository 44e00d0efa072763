/* Tree targets: TreeEnsembleRegressor and TreeEnsemble, which differ only in the attributes of their trees. */
#pragma once
#include "ops/ml/forest.h"
#include "ops/ml/post_transform.h"

typedef struct TreeTargets {
  Forest forest;
  PostTransform how;
} TreeTargets;

/* An operator's `own`: reads its trees, and sets how, forest.aggregate and forest.base. */
typedef struct TreeReader {
  Status (*read)(const Node *n, ForestSource *out, TreeTargets *p);
  bool keeps_type; /* y has the type of x; else float32 */
} TreeReader;

Status tree_targets_infer(Node *n);
void tree_targets_run(const Node *n);
double tree_targets_work(const Node *n);
