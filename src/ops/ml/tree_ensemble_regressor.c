/* TreeEnsembleRegressor: what the leaves of all trees give to each target: their sum, mean, least or largest. */
#include "ops/ml/tree_nodes.h"
#include "ops/ml/tree_targets.h"

static Status read_trees(const Node *n, ForestSource *out, TreeTargets *p) {
  static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  int aggregate;
  TRY(post_transform_read(n, &p->how));
  TRY(node_choice(n, "aggregate_function", "SUM", aggregates, 4, &aggregate));
  p->forest.aggregate = (Aggregate)aggregate;
  TRY(forest_numbers(n, "base_values", n->graph->arena, &p->forest.base));
  return tree_nodes_read(n, "target", out->arena, out);
}

OPERATOR(tree_ensemble_regressor) = {
    .name = "TreeEnsembleRegressor",
    .domain = "ai.onnx.ml",
    .since = {1, 3, 5},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .infer = tree_targets_infer,
    .run = tree_targets_run,
    .work = tree_targets_work,
    .own = &(const TreeReader){read_trees, false},
    .cases = CASES({"f32[9,2]", "nodes_treeids=[0,0,0,1] nodes_nodeids=[0,1,2,0] nodes_featureids=[1,0,0,0] "
                                "nodes_modes=[BRANCH_LEQ,LEAF,LEAF,LEAF] nodes_values=[0.25,0.0,0.0,0.0] "
                                "nodes_truenodeids=[1,0,0,0] nodes_falsenodeids=[2,0,0,0] target_ids=[0,0,0] "
                                "target_nodeids=[1,2,0] target_treeids=[0,0,1] target_weights=[1.0,2.0,10.0]"}),
};
