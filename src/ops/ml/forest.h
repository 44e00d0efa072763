/* Forest: the trees of ai.onnx.ml as an operator's attributes tell them, made compact once, and rows walked down them.
 *
 *   ForestSource ─ forest_build ─▶ Forest ─ forest_run, rows in blocks ─▶ scores of a row ─▶ the operator's `finish`
 */
#pragma once
#include "graph/op.h"

/* Numbered as TreeEnsemble does. */
typedef enum Question { ASK_LEQ, ASK_LT, ASK_GTE, ASK_GT, ASK_EQ, ASK_NEQ, ASK_MEMBER, ASK_NOTHING } Question;
typedef enum Aggregate { AGGREGATE_AVERAGE, AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX } Aggregate;

/* Numbers of an attribute: floats, or a tensor of any float type. NULL where there are none. */
typedef struct ForestNumbers {
  size_t count;
  const double *items;
} ForestNumbers;

/* A forest as attributes describe it, not checked yet. A place is an entry of the nodes, or ~k for leaf k. */
typedef struct ForestSource {
  Arena *arena; /* memory needed only until the forest is built */
  size_t count; /* entries */
  const uint8_t *questions;
  const double *splits;
  const int64_t *features, *missing; /* missing[i] = 1: NaN is answered by yes; NULL: by no */
  int64_t *next[2];                  /* places: if no, if yes */
  int64_t *roots;
  size_t root_count;
  size_t leaf_count; /* leaf k: what it adds to which target, entries first[k] … first[k + 1] - 1 of these */
  const size_t *first;
  const int64_t *targets;
  const double *weights;
  ForestNumbers members; /* a set after the other, NaN between them: of the nodes that ask ASK_MEMBER */
} ForestSource;

typedef struct ForestAdd {
  uint32_t target;
  double weight;
} ForestAdd;

typedef struct Forest {
  bool wide;  /* features and splits are float64 */
  bool twice; /* rows are followed by a copy in which NaN is -∞ */
  size_t features, targets, root_count;
  void *nodes; /* TreeNode or WideTreeNode */
  uint32_t leaves, *roots, *first;
  ForestAdd *adds;
  Aggregate aggregate;
  ForestNumbers base;
} Forest;

/* Reads an attribute `name`, or `name`_as_tensor; `out` stays empty where there is none. */
Status forest_numbers(const Node *n, const char *name, Arena *arena, ForestNumbers *out);
/* Refuses what leads nowhere, in circles, or reads or adds outside of what there is. */
Status forest_build(Node *n, const ForestSource *s, size_t targets, Forest *out);
/* (N, targets) from x, which may also be one row of rank 1; asks for the scratch memory of forest_run. */
Status forest_shape(Node *n, const Forest *f, Shape *y);

/* Takes the scores of a row, which it may change: those that no leaf has added to are -0. */
typedef void ForestFinish(const Node *n, const Forest *f, size_t row, double *scores);
void forest_run(const Node *n, const Forest *f, ForestFinish *finish);
double forest_work(const Node *n, const Forest *f);

/* A score that no leaf has added to. */
static inline bool forest_untouched(double score) { return score == 0 && __builtin_signbit(score); }
/* The sums of the leaves plus the base value: scores[i] for each target. */
void forest_total(const Forest *f, double *scores);
