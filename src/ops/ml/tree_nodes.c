/* Tree nodes: numbers of nodes become entries of the lists. */
#include "ops/ml/tree_nodes.h"

#include "kernels/select.h"

#include <string.h>

typedef struct Ids {
  size_t count;
  const int64_t *trees, *nodes;
  size_t *order; /* entries by tree and node */
} Ids;

static Status take_ints(const Node *n, const char *name, size_t count, const int64_t **out) {
  int came;
  *out = node_ints(n, name, &came);
  return (size_t)came == count ? STATUS_OK : node_invalid(n, "%s has %d numbers, it must have %zu", name, came, count);
}

static bool before(const void *context, size_t a, size_t b) {
  const Ids *ids = context;
  if (ids->trees[a] != ids->trees[b]) return ids->trees[a] < ids->trees[b];
  return ids->nodes[a] != ids->nodes[b] ? ids->nodes[a] < ids->nodes[b] : a < b;
}

/* Exporters write them in order. */
static Status sort(const Node *n, Ids *ids) {
  bool sorted = true;
  for (size_t i = 0; i < ids->count; i++) ids->order[i] = i, sorted &= i == 0 || before(ids, i - 1, i);
  if (!sorted) select_best(ids->order, ids->count, ids->count, before, ids);
  for (size_t i = 1; i < ids->count; i++) {
    size_t a = ids->order[i - 1], b = ids->order[i];
    if (ids->trees[a] == ids->trees[b] && ids->nodes[a] == ids->nodes[b])
      return node_invalid(n, "tree %lld has two nodes %lld", (long long)ids->trees[a], (long long)ids->nodes[a]);
  }
  return STATUS_OK;
}

static Status find(const Node *n, const Ids *ids, int64_t tree, int64_t node, size_t *entry) {
  size_t from = 0, to = ids->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2, at = ids->order[middle];
    if (ids->trees[at] < tree || (ids->trees[at] == tree && ids->nodes[at] < node)) from = middle + 1;
    else to = middle;
  }
  if (from < ids->count && ids->trees[ids->order[from]] == tree && ids->nodes[ids->order[from]] == node)
    return *entry = ids->order[from], STATUS_OK;
  return node_invalid(n, "tree %lld has no node %lld", (long long)tree, (long long)node);
}

static Status read_questions(const Node *n, size_t count, uint8_t *out) {
  static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  const Attr *modes = node_attr(n, "nodes_modes", ATTR_STRINGS);
  if (!modes || (size_t)modes->count != count)
    return node_invalid(n, "nodes_modes has %d words, it must have %zu", modes ? modes->count : 0, count);
  for (size_t i = 0; i < count; i++) {
    while (out[i] <= ASK_NOTHING && strcmp(modes->strings[i], words[out[i]]) != 0) out[i]++;
    if (out[i] > ASK_NOTHING || out[i] == ASK_MEMBER)
      return node_invalid(n, "nodes_modes has '%.40s', which we do not know", modes->strings[i]);
  }
  return STATUS_OK;
}

/* Children as places: leaf k is entry k. */
static Status read_children(const Node *n, const Ids *ids, const char *name, const uint8_t *questions, int64_t *next) {
  const int64_t *children;
  TRY(take_ints(n, name, ids->count, &children));
  for (size_t i = 0; i < ids->count; i++) {
    size_t at;
    if (questions[i] == ASK_NOTHING) continue;
    TRY(find(n, ids, ids->trees[i], children[i], &at));
    next[i] = questions[at] == ASK_NOTHING ? ~(int64_t)at : (int64_t)at;
  }
  return STATUS_OK;
}

/* Reads the values that the leaves add, gathered by leaf in the order of the lists. */
static Status read_leaves(const Node *n, const char *what, const Ids *ids, ForestSource *out) {
  const char *names[4];
  static const char *const endings[] = {"ids", "nodeids", "treeids", "weights"};
  for (int i = 0; i < 4; i++)
    if (!(names[i] = arena_print(out->arena, "%s_%s", what, endings[i]))) return STATUS_OUT_OF_MEMORY;
  ForestNumbers weights;
  const int64_t *targets, *nodes, *trees;
  TRY(forest_numbers(n, names[3], out->arena, &weights));
  TRY(take_ints(n, names[0], weights.count, &targets));
  TRY(take_ints(n, names[1], weights.count, &nodes));
  TRY(take_ints(n, names[2], weights.count, &trees));
  size_t *first = ARENA_ARRAY(out->arena, size_t, ids->count + 2),
         *entry = ARENA_ARRAY(out->arena, size_t, weights.count);
  int64_t *sorted_targets = ARENA_ARRAY(out->arena, int64_t, weights.count);
  double *sorted = ARENA_ARRAY(out->arena, double, weights.count);
  if (!first || !entry || !sorted_targets || !sorted) return STATUS_OUT_OF_MEMORY;
  for (size_t i = 0; i < weights.count; i++) {
    TRY(find(n, ids, trees[i], nodes[i], &entry[i]));
    first[entry[i] + 2]++;
  }
  for (size_t k = 2; k <= ids->count + 1; k++) first[k] += first[k - 1];
  for (size_t i = 0; i < weights.count; i++) {
    size_t at = first[entry[i] + 1]++;
    sorted_targets[at] = targets[i];
    sorted[at] = weights.items[i];
  }
  out->leaf_count = ids->count;
  out->first = first;
  out->targets = sorted_targets;
  out->weights = sorted;
  return STATUS_OK;
}

/* A tree begins where the number of the tree changes. */
static void find_roots(const Ids *ids, ForestSource *out) {
  for (size_t i = 0; i < ids->count; i++)
    if (i == 0 || ids->trees[i] != ids->trees[i - 1])
      out->roots[out->root_count++] = out->questions[i] == ASK_NOTHING ? ~(int64_t)i : (int64_t)i;
}

Status tree_nodes_read(const Node *n, const char *what, Arena *arena, ForestSource *out) {
  int count, missing;
  Ids ids = {.trees = node_ints(n, "nodes_treeids", &count)};
  ids.count = (size_t)count;
  *out = (ForestSource){.arena = arena, .count = ids.count};
  TRY(take_ints(n, "nodes_nodeids", ids.count, &ids.nodes));
  TRY(take_ints(n, "nodes_featureids", ids.count, &out->features));
  ids.order = ARENA_ARRAY(arena, size_t, ids.count);
  uint8_t *questions = ARENA_ARRAY(arena, uint8_t, ids.count);
  for (int i = 0; i < 2; i++) out->next[i] = ARENA_ARRAY(arena, int64_t, ids.count);
  out->roots = ARENA_ARRAY(arena, int64_t, ids.count);
  if (!ids.order || !questions || !out->next[0] || !out->next[1] || !out->roots) return STATUS_OUT_OF_MEMORY;
  ForestNumbers splits;
  TRY(forest_numbers(n, "nodes_values", arena, &splits));
  if (splits.count != ids.count)
    return node_invalid(n, "nodes_values has %zu numbers, it must have %zu", splits.count, ids.count);
  out->splits = splits.items;
  out->missing = node_ints(n, "nodes_missing_value_tracks_true", &missing);
  if (missing && (size_t)missing != ids.count)
    return node_invalid(n, "nodes_missing_value_tracks_true has %d numbers, it must have %zu", missing, ids.count);
  if (!missing) out->missing = NULL;
  TRY(read_questions(n, ids.count, questions));
  out->questions = questions;
  TRY(sort(n, &ids));
  TRY(read_children(n, &ids, "nodes_falsenodeids", questions, out->next[0]));
  TRY(read_children(n, &ids, "nodes_truenodeids", questions, out->next[1]));
  find_roots(&ids, out);
  return read_leaves(n, what, &ids, out);
}
