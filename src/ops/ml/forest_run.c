/* Forest: rows are walked in blocks, whose features and a tree's nodes stay in the cache. */
#include "ops/ml/forest.h"

#include <math.h>

#include "kernels/number.h"
#include "kernels/select.h"
#include "kernels/trees.h"
#include "threads.h"

enum { BLOCK = 128 };

static size_t width_of(const Forest *f) { return f->features * (f->twice ? 2 : 1); }

/* A thread's block of rows, the leaves they end in and their scores. */
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

/* Rounded as the features' type is. Of several targets one that no leaf has added to stays 0, as in ONNX Runtime. */
void forest_total(const Forest *f, double *scores) {
  for (size_t i = 0; i < f->targets; i++) {
    double base = f->base.count == f->targets ? f->base.items[i] : 0, score = scores[i];
    if (f->aggregate == AGGREGATE_AVERAGE)
      score = f->wide ? score / (double)f->root_count : (double)((float)score / (float)f->root_count);
    bool stays_0 = f->targets > 1 && forest_untouched(scores[i]);
    scores[i] = stays_0 ? 0 : f->wide ? score + base : (double)((float)score + (float)base);
  }
}

/* An estimate for balanced trees. A walk may take longer, up to all nodes. */
double forest_work(const Node *n, const Forest *f) {
  double rows = n->in[0]->shape.rank == 1 ? 1 : (double)n->in[0]->shape.dim[0], trees = (double)f->root_count;
  double depth = trees > 0 ? 2 * select_levels(2 + (double)f->leaves / trees) : 0;
  return rows * (trees * depth * 4 + (double)width_of(f));
}
