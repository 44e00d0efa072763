/* Forest: every question becomes x <= split, nodes are put side by side in the order in which they are reached, and
 * rows are walked in blocks, whose features and a tree's nodes stay in the cache. */
#include "ops/ml/forest.h"

#include <math.h>

#include "graph/work.h"
#include "kernels/number.h"
#include "kernels/select.h"
#include "kernels/trees.h"
#include "threads.h"

enum { BLOCK = 128 };

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
  uint32_t *number, *queue; /* of each entry: its first node, 0xffffffff until it is reached; entries to be done */
  size_t *set;              /* of each entry that asks for membership: where its set begins */
  uint32_t queued, made, leaf_made, add_made;
  size_t adds; /* room for so many */
} Build;
#define NOT_YET 0xffffffffu

static size_t set_length(const ForestSource *s, size_t first) {
  size_t at = first;
  while (at < s->members.count && !isnan(s->members.items[at])) at++;
  return at - first;
}

/* How many nodes an entry becomes. */
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

/* Where each set of members begins, and the most nodes and leaves there can be. */
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

/* Whether some node needs the copy of the row: NaN comes with floats only. */
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
  size_t leaves = s->count + s->root_count; /* of a tree there is one more than inner nodes */
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

/* ---- running ---- */

static size_t width_of(const Forest *f) { return f->features * (f->twice ? 2 : 1); }

/* Where a thread's block of rows is, the leaves they end in and their scores. */
typedef struct Room {
  double *scores;
  void *x;
  uint32_t *leaf;
} Room;

static size_t room_bytes(const Forest *f) {
  size_t bytes, numbers;
  if (!size_multiply(BLOCK * sizeof(double), width_of(f), &bytes) ||
      !size_multiply(BLOCK * sizeof(double), f->targets, &numbers) || !size_add(bytes, numbers, &bytes) ||
      !size_add(bytes, BLOCK * sizeof(uint32_t), &bytes))
    return SIZE_MAX;
  return bytes;
}

Status forest_shape(Node *n, const Forest *f, Shape *y) {
  const Shape *x = &n->in[0]->shape;
  Dim rows = x->rank == 1 ? 1 : x->dim[0];
  *y = SHAPE(rows, (Dim)f->targets);
  if (node_is_concrete(n) && !size_multiply(room_bytes(f), (size_t)threads_count(), &n->scratch_bytes))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its rows do not fit this machine's memory");
  return STATUS_OK;
}

typedef struct Run {
  const Node *node;
  const Forest *forest;
  ForestFinish *finish;
  size_t rows;
} Run;

/* The row as the nodes read it, and its copy without NaN. */
static void load_row(const Forest *f, const Value *x, size_t row, void *to) {
  size_t width = f->features;
  for (size_t at = 0; at < width; at += NUMBERS) {
    Numbers block;
    size_t count = width - at < NUMBERS ? width - at : NUMBERS;
    numbers_load(&block, x->data, x->type, row * width + at, 1, count);
    for (size_t i = 0; i < count; i++) {
      double v = dtype_is_float(x->type) ? block.floats[i] : (double)block.ints[i], filled = isnan(v) ? -INFINITY : v;
      if (f->wide) ((double *)to)[at + i] = v;
      else ((float *)to)[at + i] = (float)v;
      if (f->twice && f->wide) ((double *)to)[width + at + i] = filled;
      else if (f->twice) ((float *)to)[width + at + i] = (float)filled;
    }
  }
}

/* Sums are rounded as sums of the features' type are. */
static void add_leaves(const Forest *f, const uint32_t *leaf, size_t rows, double *scores) {
  for (size_t r = 0; r < rows; r++, scores += f->targets) {
    uint32_t at = leaf[r] - f->leaves;
    for (uint32_t i = f->first[at]; i < f->first[at + 1]; i++) {
      double *score = &scores[f->adds[i].target], weight = f->adds[i].weight;
      if (f->aggregate <= AGGREGATE_SUM) *score = f->wide ? *score + weight : (double)(float)(*score + weight);
      else if (forest_untouched(*score) || (f->aggregate == AGGREGATE_MIN ? weight < *score : weight > *score))
        *score = weight;
    }
  }
}

static void run_block(void *context, size_t chunk, int thread) {
  const Run *run = context;
  const Forest *f = run->forest;
  const Value *x = run->node->in[0];
  size_t first = chunk * BLOCK, rows = run->rows - first < BLOCK ? run->rows - first : BLOCK, width = width_of(f);
  Room room = {.scores = (double *)(void *)((char *)run->node->scratch + (size_t)thread * room_bytes(f))};
  room.x = room.scores + BLOCK * f->targets;
  room.leaf = (uint32_t *)(void *)((double *)room.x + BLOCK * width);
  bool in_place = !f->twice && x->type == (f->wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32);
  size_t bytes = f->wide ? sizeof(double) : sizeof(float);
  const void *features = in_place ? (const char *)x->data + first * width * bytes : room.x;
  for (size_t r = 0; r < rows && !in_place; r++) load_row(f, x, first + r, (char *)room.x + r * width * bytes);
  for (size_t i = 0; i < rows * f->targets; i++) room.scores[i] = -0.0;
  for (size_t t = 0; t < f->root_count; t++) {
    if (f->wide) tree_walk_wide(f->nodes, f->roots[t], f->leaves, features, width, rows, room.leaf);
    else tree_walk(f->nodes, f->roots[t], f->leaves, features, width, rows, room.leaf);
    add_leaves(f, room.leaf, rows, room.scores);
  }
  for (size_t r = 0; r < rows; r++) run->finish(run->node, f, first + r, room.scores + r * f->targets);
}

void forest_run(const Node *n, const Forest *f, ForestFinish *finish) {
  size_t rows = n->in[0]->shape.rank == 1 ? 1 : (size_t)n->in[0]->shape.dim[0];
  threads_run((rows + BLOCK - 1) / BLOCK, run_block, &(Run){n, f, finish, rows});
}

/* Rounded as the features' type is, as ONNX Runtime rounds. */
void forest_total(const Forest *f, double *scores) {
  for (size_t i = 0; i < f->targets; i++) {
    double base = f->base.count == f->targets ? f->base.items[i] : 0, score = scores[i];
    if (f->aggregate == AGGREGATE_AVERAGE)
      score = f->wide ? score / (double)f->root_count : (double)((float)score / (float)f->root_count);
    scores[i] = f->wide ? score + base : (double)((float)score + (float)base);
  }
}

/* As if each tree were as deep as one that is full; a walk may take longer, up to all nodes. */
double forest_work(const Node *n, const Forest *f) {
  double rows = n->in[0]->shape.rank == 1 ? 1 : (double)n->in[0]->shape.dim[0], trees = (double)f->root_count;
  double depth = trees > 0 ? 2 * select_levels(2 + (double)f->leaves / trees) : 0;
  return rows * (trees * depth * 4 + (double)width_of(f));
}
