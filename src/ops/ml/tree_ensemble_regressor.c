/* TreeEnsembleRegressor: what the leaves of all trees give to each target: their sum, mean, least or largest. */
#include "ops/ml/post_transform.h"
#include "ops/ml/tree_nodes.h"

typedef struct Regressor {
  Forest forest;
  PostTransform how;
} Regressor;

static Status build(Node *n, Arena *arena, Regressor *p) {
  static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  ForestSource source;
  int aggregate;
  int64_t targets = node_int(n, "n_targets", 1);
  if (targets < 1 || targets > 1 << 20) return node_invalid(n, "n_targets is %lld", (long long)targets);
  TRY(post_transform_read(n, &p->how));
  TRY(node_choice(n, "aggregate_function", "SUM", aggregates, 4, &aggregate));
  p->forest.aggregate = (Aggregate)aggregate;
  TRY(tree_nodes_read(n, "target", arena, &source));
  TRY(forest_numbers(n, "base_values", n->graph->arena, &p->forest.base));
  return forest_build(n, &source, (size_t)targets, &p->forest);
}

static Status tree_ensemble_regressor_infer(Node *n) {
  Regressor *p = NODE_PARAMS(n, Regressor);
  Arena brief = {0};
  Shape y;
  Status status = p ? build(n, &brief, p) : STATUS_OUT_OF_MEMORY;
  arena_free(&brief);
  if (status == STATUS_OK) status = forest_shape(n, &p->forest, &y);
  return status == STATUS_OK ? node_output(n, 0, DTYPE_FLOAT32, &y) : status;
}

/* A single target is left as it is, but for PROBIT: so does ONNX Runtime. */
static void finish(const Node *n, const Forest *f, size_t row, double *scores) {
  const Regressor *p = n->params;
  float *y = out_f32(n, 0) + row * f->targets;
  forest_total(f, scores);
  for (size_t i = 0; i < f->targets; i++) y[i] = (float)scores[i];
  if (f->targets > 1 || p->how == POST_PROBIT) post_transform_row(p->how, y, f->targets);
}

static void tree_ensemble_regressor_run(const Node *n) {
  forest_run(n, &((const Regressor *)n->params)->forest, finish);
}

static double tree_ensemble_regressor_work(const Node *n) {
  return forest_work(n, &((const Regressor *)n->params)->forest);
}

OPERATOR(tree_ensemble_regressor) = {
    .name = "TreeEnsembleRegressor",
    .domain = "ai.onnx.ml",
    .since = {1, 3, 5},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .infer = tree_ensemble_regressor_infer,
    .run = tree_ensemble_regressor_run,
    .work = tree_ensemble_regressor_work,
    .cases = CASES({"f32[9,2]", "nodes_treeids=[0,0,0,1] nodes_nodeids=[0,1,2,0] nodes_featureids=[1,0,0,0] "
                                "nodes_modes=[BRANCH_LEQ,LEAF,LEAF,LEAF] nodes_values=[0.25,0.0,0.0,0.0] "
                                "nodes_truenodeids=[1,0,0,0] nodes_falsenodeids=[2,0,0,0] target_ids=[0,0,0] "
                                "target_nodeids=[1,2,0] target_treeids=[0,0,1] target_weights=[1.0,2.0,10.0]"}),
};
