/* Forest: every question becomes x <= split, nodes are put side by side in the order in which they are reached, and
 * rows are walked in blocks, whose features and a tree's nodes stay in the cache. */
#include "ops/ml/forest.h"

#include <math.h>

#include "kernels/number.h"
#include "kernels/trees.h"

/* ---- numbers of attributes ---- */

Status forest_numbers(const Node *n, const char *name, Arena *arena, ForestNumbers *out) {
  const char *long_name = arena_print(arena, "%s_as_tensor", name);
  const Attr *floats = node_attr(n, name, ATTR_FLOATS), *tensor = node_attr(n, name, ATTR_TENSOR);
  if (!tensor && long_name) tensor = node_attr(n, long_name, ATTR_TENSOR);
  DType type = tensor ? tensor->tensor->type : DTYPE_FLOAT32;
  const void *data = tensor ? tensor->tensor->data : floats ? floats->floats : NULL;
  size_t count = tensor ? shape_elements(&tensor->tensor->shape) : floats ? (size_t)floats->count : 0;
  if (type == DTYPE_STRING) return node_invalid(n, "%s has strings, it must have numbers", name);
  double *items = arena_alloc_array(arena, count, sizeof *items);
  if (!items || !long_name) return STATUS_OUT_OF_MEMORY;
  for (size_t at = 0; at < count; at += NUMBERS) {
    Numbers block;
    size_t some = count - at < NUMBERS ? count - at : NUMBERS;
    numbers_load(&block, data, type, at, 1, some);
    for (size_t i = 0; i < some; i++) items[at + i] = dtype_is_float(type) ? block.floats[i] : (double)block.ints[i];
  }
  *out = (ForestNumbers){count, items};
  return STATUS_OK;
}

/* ---- building ---- */

typedef struct Build {
  Node *node;
  const ForestSource *from;
  Forest *to;
  uint32_t *number,
      *queue;  /* number: each entry's first node, 0xffffffff until it is reached; queue: entries to be done */
  size_t *set; /* start of the set of each entry that asks for membership */
  uint32_t queued, made, leaf_made, add_made;
  size_t adds; /* room for so many */
} Build;
#define NOT_YET 0xffffffffu

static size_t set_length(const ForestSource *s, size_t first) {
  size_t at = first;
  while (at < s->members.count && !isnan(s->members.items[at])) at++;
  return at - first;
}

/* The number of nodes that an entry becomes. */
static size_t nodes_of(const Build *b, size_t entry) {
  const ForestSource *s = b->from;
  Question ask = s->questions[entry];
  return ask == ASK_MEMBER ? 1 + 2 * set_length(s, b->set[entry]) : ask == ASK_EQ || ask == ASK_NEQ ? 2 : 1;
}

static void put_node(Build *b, size_t at, double split, size_t feature, uint32_t no, uint32_t yes) {
  Forest *f = b->to;
  if (f->wide) {
    ((WideTreeNode *)f->nodes)[at] = (WideTreeNode){split, (uint32_t)feature, {no, yes}};
    return;
  }
  float narrow = (float)split; /* for a float x: x <= split if and only if x <= the float at or below it */
  if ((double)narrow > split) narrow = nextafterf(narrow, -INFINITY);
  ((TreeNode *)f->nodes)[at] = (TreeNode){narrow, (uint32_t)feature, {no, yes}};
}

static Status put_leaf(Build *b, size_t leaf, uint32_t *place) {
  const ForestSource *s = b->from;
  Forest *f = b->to;
  *place = f->leaves + b->leaf_made;
  put_node(b, *place, 0, 0, *place, *place);
  f->first[b->leaf_made++] = b->add_made;
  size_t end = f->targets == 1 && s->first[leaf + 1] > s->first[leaf] ? s->first[leaf] + 1 : s->first[leaf + 1];
  if (end - s->first[leaf] > b->adds - b->add_made) return node_invalid(b->node, "leaf %zu is reached too often", leaf);
  for (size_t i = s->first[leaf]; i < end; i++) {
    if (s->targets[i] < 0 || (uint64_t)s->targets[i] >= f->targets)
      return node_invalid(b->node, "a leaf adds to target %lld of %zu", (long long)s->targets[i], f->targets);
    f->adds[b->add_made++] = (ForestAdd){(uint32_t)s->targets[i], s->weights[i]};
  }
  f->first[b->leaf_made] = b->add_made;
  return STATUS_OK;
}

/* The node that a place becomes: entries are put into the queue, each once. */
static Status reach(Build *b, int64_t place, uint32_t *out) {
  const ForestSource *s = b->from;
  if (place < 0 && (uint64_t)~place < s->leaf_count) return put_leaf(b, (size_t)~place, out);
  if (place < 0 || (uint64_t)place >= s->count)
    return node_invalid(b->node, "a node leads to entry %lld of %zu", (long long)(place < 0 ? ~place : place),
                        place < 0 ? s->leaf_count : s->count);
  if (b->number[place] != NOT_YET)
    return node_invalid(b->node, "entry %lld of its nodes is reached twice: trees have no circles", (long long)place);
  *out = b->number[place] = b->made;
  b->made += (uint32_t)nodes_of(b, (size_t)place);
  b->queue[b->queued++] = (uint32_t)place;
  return STATUS_OK;
}

/* x = split: x <= split, and not x <= the number before it. */
static void put_equal(Build *b, size_t at, double split, size_t first_feature, size_t feature, uint32_t no,
                      uint32_t yes) {
  put_node(b, at, split, first_feature, no, (uint32_t)at + 1);
  put_node(b, at + 1, nextafter(split, -INFINITY), feature, yes, no);
}

/* NaN is answered by no, and in the row's copy by yes. */
static void put_question(Build *b, size_t entry, uint32_t no, uint32_t yes) {
  const ForestSource *s = b->from;
  size_t at = b->number[entry], plain = (size_t)s->features[entry], copy = plain + (b->to->twice ? b->to->features : 0);
  bool missing = s->missing && s->missing[entry] == 1;
  size_t feature = missing ? copy : plain, against = missing ? plain : copy;
  double split = s->splits[entry], before = nextafter(split, -INFINITY);
  switch ((Question)s->questions[entry]) {
    case ASK_LEQ: put_node(b, at, split, feature, no, yes); break;
    case ASK_LT: put_node(b, at, before, feature, no, yes); break;
    case ASK_GTE: put_node(b, at, before, against, yes, no); break;
    case ASK_GT: put_node(b, at, split, against, yes, no); break;
    case ASK_EQ: put_equal(b, at, split, feature, plain, no, yes); break;
    case ASK_NEQ: put_equal(b, at, split, plain, plain, yes, no); break;
    default: {
      size_t length = set_length(s, b->set[entry]);
      const double *members = s->members.items + b->set[entry];
      for (size_t i = 0; i < length; i++, at += 2) put_equal(b, at, members[i], plain, plain, (uint32_t)at + 2, yes);
      put_node(b, at, -INFINITY, feature, no, missing ? yes : no); /* only a missing one can be yes here */
    }
  }
}

static Status put_tree(Build *b, size_t tree) {
  const ForestSource *s = b->from;
  b->queued = 0;
  TRY(reach(b, s->roots[tree], &b->to->roots[tree]));
  for (uint32_t i = 0; i < b->queued; i++) {
    size_t entry = b->queue[i];
    uint32_t no, yes;
    if (s->questions[entry] > ASK_MEMBER)
      return node_invalid(b->node, "entry %zu of its nodes has a mode that we do not know", entry);
    if (s->features[entry] < 0 || (uint64_t)s->features[entry] >= b->to->features)
      return node_invalid(b->node, "entry %zu of its nodes reads feature %lld of %zu", entry,
                          (long long)s->features[entry], b->to->features);
    TRY(reach(b, s->next[0][entry], &no));
    TRY(reach(b, s->next[1][entry], &yes));
    put_question(b, entry, no, yes);
  }
  return STATUS_OK;
}

/* Finds the start of each set of members, and the most nodes and leaves that there can be. */
static Status measure(Build *b, size_t *nodes, size_t *adds) {
  const ForestSource *s = b->from;
  size_t at = 0;
  *nodes = 0;
  for (size_t i = 0; i < s->count; i++) {
    b->number[i] = NOT_YET;
    if (s->questions[i] == ASK_MEMBER) {
      if (at > s->members.count || (at == s->members.count && at > 0 && !isnan(s->members.items[at - 1])))
        return node_invalid(b->node, "membership_values has too few sets");
      b->set[i] = at;
      at += set_length(s, at) + 1;
    }
    if (s->questions[i] <= ASK_MEMBER) *nodes += nodes_of(b, i);
  }
  *adds = s->leaf_count ? s->first[s->leaf_count] : 0;
  return *nodes + 2 * s->count + s->root_count < NOT_YET / 2
           ? STATUS_OK
           : node_fail(b->node, STATUS_UNSUPPORTED_OP, "it has too many nodes");
}

/* True if some node needs the copy of the row; only floats have NaN. */
static bool needs_copy(const Build *b) {
  const ForestSource *s = b->from;
  for (size_t i = 0; i < s->count && dtype_is_float(b->node->in[0]->type); i++) {
    Question ask = s->questions[i];
    bool missing = s->missing && s->missing[i] == 1, against = ask == ASK_GT || ask == ASK_GTE;
    if (ask <= ASK_MEMBER && ask != ASK_NEQ && missing != against) return true;
  }
  return false;
}

Status forest_build(Node *n, const ForestSource *s, size_t targets, Forest *f) {
  const Shape *x = &n->in[0]->shape;
  Arena *arena = n->graph->arena;
  Build b = {n,
             s,
             f,
             .number = ARENA_ARRAY(s->arena, uint32_t, s->count),
             .queue = ARENA_ARRAY(s->arena, uint32_t, s->count),
             .set = ARENA_ARRAY(s->arena, size_t, s->count)};
  size_t nodes, adds;
  if (!b.number || !b.queue || !b.set) return STATUS_OUT_OF_MEMORY;
  TRY(node_want_rank(n, 0, 1, 2));
  TRY(measure(&b, &nodes, &adds));
  size_t leaves = s->count + s->root_count; /* a tree has one leaf more than inner nodes */
  f->wide = n->in[0]->type == DTYPE_FLOAT64;
  f->twice = needs_copy(&b);
  f->features = dim_is_number(x->dim[x->rank - 1]) ? (size_t)x->dim[x->rank - 1] : UINT32_MAX / 4;
  f->targets = targets;
  f->root_count = s->root_count;
  f->leaves = (uint32_t)nodes;
  f->nodes = arena_alloc_array(arena, nodes + leaves, f->wide ? sizeof(WideTreeNode) : sizeof(TreeNode));
  f->roots = ARENA_ARRAY(arena, uint32_t, s->root_count);
  f->first = ARENA_ARRAY(arena, uint32_t, leaves + 1);
  b.adds = adds + leaves;
  f->adds = ARENA_ARRAY(arena, ForestAdd, b.adds);
  if (!f->nodes || !f->roots || !f->first || !f->adds) return STATUS_OUT_OF_MEMORY;
  for (size_t tree = 0; tree < s->root_count; tree++) TRY(put_tree(&b, tree));
  return STATUS_OK;
}
