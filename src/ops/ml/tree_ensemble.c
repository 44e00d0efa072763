/* TreeEnsemble: what the leaves of all trees give to each target; leaves have lists of their own, and a node may ask
 * whether a feature is one of a set. */
#include "ops/ml/tree_targets.h"

static Status take_ints(const Node *n, const char *name, size_t count, const int64_t **out) {
  int came;
  *out = node_ints(n, name, &came);
  return (size_t)came == count ? STATUS_OK : node_invalid(n, "%s has %d numbers, it must have %zu", name, came, count);
}

/* nodes_NAMEnodeids, which are leaves where nodes_NAMEleafs says so. */
static Status read_places(const Node *n, const char *nodes, const char *leaves, size_t count, int64_t *next) {
  const int64_t *at, *is_leaf;
  TRY(take_ints(n, nodes, count, &at));
  TRY(take_ints(n, leaves, count, &is_leaf));
  for (size_t i = 0; i < count; i++) {
    if (at[i] < 0) return node_invalid(n, "%s has %lld", nodes, (long long)at[i]);
    next[i] = is_leaf[i] ? ~at[i] : at[i];
  }
  return STATUS_OK;
}

/* A leaf adds to one target. */
static Status read_leaves(const Node *n, ForestSource *out) {
  ForestNumbers weights;
  TRY(forest_numbers(n, "leaf_weights", out->arena, &weights));
  TRY(take_ints(n, "leaf_targetids", weights.count, &out->targets));
  size_t *first = ARENA_ARRAY(out->arena, size_t, weights.count + 1);
  if (!first) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i <= weights.count; i++) first[i] = i;
  out->leaf_count = weights.count;
  out->first = first;
  out->weights = weights.items;
  return STATUS_OK;
}

static Status read_how(const Node *n, TreeTargets *p) {
  int64_t how = node_int(n, "post_transform", POST_NONE), aggregate = node_int(n, "aggregate_function", AGGREGATE_SUM);
  if (how < POST_NONE || how > POST_PROBIT) return node_invalid(n, "post_transform is %lld", (long long)how);
  if (aggregate < AGGREGATE_AVERAGE || aggregate > AGGREGATE_MAX)
    return node_invalid(n, "aggregate_function is %lld", (long long)aggregate);
  p->how = (PostTransform)how;
  p->forest.aggregate = (Aggregate)aggregate;
  return STATUS_OK;
}

static Status read_trees(const Node *n, ForestSource *out, TreeTargets *p) {
  int count, roots, missing;
  const Attr *modes = node_attr(n, "nodes_modes", ATTR_TENSOR);
  ForestNumbers splits;
  TRY(read_how(n, p));
  out->features = node_ints(n, "nodes_featureids", &count);
  out->count = (size_t)count;
  TRY(forest_numbers(n, "nodes_splits", out->arena, &splits));
  TRY(forest_numbers(n, "membership_values", out->arena, &out->members));
  if (splits.count != out->count)
    return node_invalid(n, "nodes_splits has %zu numbers, it must have %zu", splits.count, out->count);
  if (!modes || modes->tensor->type != DTYPE_UINT8 || shape_elements(&modes->tensor->shape) != out->count)
    return node_invalid(n, "nodes_modes must be a tensor of %zu uint8", out->count);
  out->splits = splits.items;
  out->questions = modes->tensor->data;
  out->missing = node_ints(n, "nodes_missing_value_tracks_true", &missing);
  if (missing) TRY(take_ints(n, "nodes_missing_value_tracks_true", out->count, &out->missing));
  const int64_t *given = node_ints(n, "tree_roots", &roots);
  out->root_count = (size_t)roots;
  out->roots = (int64_t *)(uintptr_t)given;
  for (int i = 0; i < 2; i++)
    if (!(out->next[i] = ARENA_ARRAY(out->arena, int64_t, count))) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < roots; i++)
    if (given[i] < 0) return node_invalid(n, "tree_roots has %lld", (long long)given[i]);
  TRY(read_places(n, "nodes_falsenodeids", "nodes_falseleafs", out->count, out->next[0]));
  TRY(read_places(n, "nodes_truenodeids", "nodes_trueleafs", out->count, out->next[1]));
  return read_leaves(n, out);
}

OPERATOR(tree_ensemble) = {
    .name = "TreeEnsemble",
    .domain = "ai.onnx.ml",
    .since = {5},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .infer = tree_targets_infer,
    .run = tree_targets_run,
    .work = tree_targets_work,
    .own = &(const TreeReader){read_trees, true},
};
