/* TreeEnsembleClassifier: scores of classes that the leaves of all trees add up to, and the label of the best. Of two
 * classes ONNX Runtime has its own rules, which are these; but where it gives 0 or 1 for labels that are other numbers,
 * we give the labels. */
#include "ops/ml/class_labels.h"
#include "ops/ml/post_transform.h"
#include "ops/ml/tree_nodes.h"

typedef struct Classifier {
  Forest forest;
  PostTransform how;
  ClassLabels labels;
  bool one_column; /* two classes, and all leaves add to one of them */
  bool positive;   /* none of them takes away */
} Classifier;

static void look_at_weights(const ForestSource *s, Classifier *p) {
  size_t count = s->first[s->leaf_count];
  bool one = true;
  p->positive = true;
  for (size_t i = 0; i < count; i++) {
    one &= s->targets[i] == s->targets[0];
    p->positive &= !(s->weights[i] < 0);
  }
  p->one_column = p->labels.count == 2 && one && count;
}

static Status build(Node *n, Arena *arena, Classifier *p) {
  ForestSource source;
  TRY(class_labels_read(n, "classlabels_int64s", "classlabels_strings", &p->labels));
  TRY(post_transform_read(n, &p->how));
  TRY(tree_nodes_read(n, "class", arena, &source));
  TRY(forest_numbers(n, "base_values", n->graph->arena, &p->forest.base));
  if (p->forest.base.count > p->labels.count)
    return node_invalid(n, "it has %zu base_values for %zu classes", p->forest.base.count, p->labels.count);
  p->forest.aggregate = AGGREGATE_SUM;
  look_at_weights(&source, p);
  return forest_build(n, &source, p->labels.count, &p->forest);
}

static Status tree_ensemble_classifier_infer(Node *n) {
  Classifier *p = NODE_PARAMS(n, Classifier);
  Arena temporary = {0};
  Shape y;
  Status status = p ? build(n, &temporary, p) : STATUS_OUT_OF_MEMORY;
  arena_free(&temporary);
  if (status == STATUS_OK) status = forest_shape(n, &p->forest, &y);
  if (status != STATUS_OK) return status;
  Shape rows = SHAPE(y.dim[0]);
  TRY(node_output(n, 0, p->labels.type, &rows));
  return node_output(n, 1, DTYPE_FLOAT32, &y);
}

/* The class with the largest score, of those that have one. */
static size_t best_of_many(const Forest *f, double *scores) {
  size_t best = f->targets;
  for (size_t i = 0; i < f->targets; i++) {
    bool has = !forest_untouched(scores[i]) || i < f->base.count;
    if (i < f->base.count) scores[i] += f->base.items[i];
    if (!f->wide) scores[i] = (double)(float)scores[i];
    if (has && (best == f->targets || scores[i] > scores[best])) best = i;
  }
  return best == f->targets ? 0 : best;
}

/* Finds the best of two classes and both scores. A class that no leaf has added to stays 0. */
static size_t best_of_two(const Classifier *p, double *scores, float *z) {
  const ForestNumbers *base = &p->forest.base;
  bool first = !forest_untouched(scores[0]), second = !forest_untouched(scores[1]);
  if (base->count == 2 && second) {
    scores[1] = base->items[1] + scores[0];
    scores[0] = -scores[1];
  } else if (base->count) scores[0] += base->items[0];
  double s = second ? scores[1] : first ? scores[0] : 0;
  bool share = p->one_column && p->positive;
  size_t best = s > (share ? 0.5 : 0);
  if (second || base->count == 2 || p->how == POST_PROBIT) {
    z[0] = first ? (float)scores[0] : 0;
    z[1] = second ? (float)scores[1] : 0;
    post_transform_row(p->how, z, 2);
    return best;
  }
  z[1] = (float)s;
  z[0] = share && p->how != POST_LOGISTIC ? 1 - z[1] : -z[1];
  if (p->how == POST_LOGISTIC) post_transform_row(p->how, z, 2);
  return best;
}

static void finish(const Node *n, const Forest *f, size_t row, double *scores) {
  const Classifier *p = n->params;
  float own[2], *z = has_out(n, 1) ? out_f32(n, 1) + row * f->targets : own;
  size_t best;
  if (f->targets == 2) best = best_of_two(p, scores, z);
  else {
    best = best_of_many(f, scores);
    for (size_t i = 0; i < f->targets && has_out(n, 1); i++) z[i] = (float)scores[i];
    if (has_out(n, 1)) post_transform_row(p->how, z, f->targets);
  }
  if (has_out(n, 0)) class_labels_put(&p->labels, n->out[0]->data, row, best);
}

static void tree_ensemble_classifier_run(const Node *n) {
  forest_run(n, &((const Classifier *)n->params)->forest, finish);
}

static double tree_ensemble_classifier_work(const Node *n) {
  return forest_work(n, &((const Classifier *)n->params)->forest);
}

OPERATOR(tree_ensemble_classifier) = {
    .name = "TreeEnsembleClassifier",
    .domain = "ai.onnx.ml",
    .since = {1, 3, 5},
    .inputs = {1, 1},
    .outputs = {1, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = tree_ensemble_classifier_infer,
    .run = tree_ensemble_classifier_run,
    .work = tree_ensemble_classifier_work,
    .cases = CASES({"f32[9,2]",
                    "nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[1,0,0] "
                    "nodes_modes=[BRANCH_GT,LEAF,LEAF] nodes_values=[0.25,0.0,0.0] nodes_truenodeids=[1,0,0] "
                    "nodes_falsenodeids=[2,0,0] class_ids=[0,1,2] class_nodeids=[1,2,2] class_treeids=[0,0,0] "
                    "class_weights=[1.0,2.0,3.0] classlabels_int64s=[5,6,7] post_transform=SOFTMAX",
                    .outputs = 2}),
};
