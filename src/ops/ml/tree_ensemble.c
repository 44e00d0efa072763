/* TreeEnsemble: what the leaves of all trees give to each target; leaves have lists of their own, and a node may ask
 * whether a feature is one of a set. */
#include "ops/ml/forest.h"
#include "ops/ml/post_transform.h"

typedef struct Ensemble {
  Forest forest;
  PostTransform how;
} Ensemble;

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

static Status read_source(const Node *n, Arena *arena, ForestSource *out) {
  int count, roots, missing;
  const Attr *modes = node_attr(n, "nodes_modes", ATTR_TENSOR);
  *out = (ForestSource){.arena = arena, .features = node_ints(n, "nodes_featureids", &count)};
  out->count = (size_t)count;
  ForestNumbers splits;
  TRY(forest_numbers(n, "nodes_splits", arena, &splits));
  TRY(forest_numbers(n, "membership_values", arena, &out->members));
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
    if (!(out->next[i] = ARENA_ARRAY(arena, int64_t, count))) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < roots; i++)
    if (given[i] < 0) return node_invalid(n, "tree_roots has %lld", (long long)given[i]);
  TRY(read_places(n, "nodes_falsenodeids", "nodes_falseleafs", out->count, out->next[0]));
  TRY(read_places(n, "nodes_truenodeids", "nodes_trueleafs", out->count, out->next[1]));
  return read_leaves(n, out);
}

static Status build(Node *n, Arena *arena, Ensemble *p) {
  ForestSource source;
  int64_t targets = node_int(n, "n_targets", 1), how = node_int(n, "post_transform", POST_NONE),
          aggregate = node_int(n, "aggregate_function", AGGREGATE_SUM);
  if (targets < 1 || targets > 1 << 20) return node_invalid(n, "n_targets is %lld", (long long)targets);
  if (how < POST_NONE || how > POST_PROBIT) return node_invalid(n, "post_transform is %lld", (long long)how);
  if (aggregate < AGGREGATE_AVERAGE || aggregate > AGGREGATE_MAX)
    return node_invalid(n, "aggregate_function is %lld", (long long)aggregate);
  p->how = (PostTransform)how;
  p->forest.aggregate = (Aggregate)aggregate;
  TRY(read_source(n, arena, &source));
  return forest_build(n, &source, (size_t)targets, &p->forest);
}

static Status tree_ensemble_infer(Node *n) {
  Ensemble *p = NODE_PARAMS(n, Ensemble);
  Arena brief = {0};
  Shape y;
  if (!dtype_is_float(n->in[0]->type))
    return node_invalid(n, "input 0 ('%.64s') is %s, it must be floats", n->in[0]->name, dtype_name(n->in[0]->type));
  Status status = p ? build(n, &brief, p) : STATUS_OUT_OF_MEMORY;
  arena_free(&brief);
  if (status == STATUS_OK) status = forest_shape(n, &p->forest, &y);
  return status == STATUS_OK ? node_output(n, 0, n->in[0]->type, &y) : status;
}

static void finish(const Node *n, const Forest *f, size_t row, double *scores) {
  const Ensemble *p = n->params;
  size_t count = f->targets, first = row * count;
  bool as_it_is = p->how == POST_NONE || (count == 1 && p->how != POST_PROBIT);
  double *wide = (double *)n->out[0]->data + first;
  float *narrow = f->wide ? (float *)(void *)scores : out_f32(n, 0) + first; /* scores are not read again */
  forest_total(f, scores);
  for (size_t i = 0; i < count && f->wide && as_it_is; i++) wide[i] = scores[i];
  if (f->wide && as_it_is) return;
  for (size_t i = 0; i < count; i++) narrow[i] = (float)scores[i];
  if (!as_it_is) post_transform_row(p->how, narrow, count);
  for (size_t i = 0; i < count && f->wide; i++) wide[i] = (double)narrow[i];
}

static void tree_ensemble_run(const Node *n) { forest_run(n, &((const Ensemble *)n->params)->forest, finish); }

static double tree_ensemble_work(const Node *n) { return forest_work(n, &((const Ensemble *)n->params)->forest); }

OPERATOR(tree_ensemble) = {
    .name = "TreeEnsemble",
    .domain = "ai.onnx.ml",
    .since = {5},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .infer = tree_ensemble_infer,
    .run = tree_ensemble_run,
    .work = tree_ensemble_work,
};
