/* Trees: rows of features walked down decision trees, eight rows side by side, so that one does not wait for another.
 *
 *   nodes   a tree's inner ones, the next tree's, … │ leaves: each leads to itself
 *           x[feature] <= split ? next[1] : next[0]
 *
 * All questions are this one: the caller turns others into it. NaN is answered by no; where it is to be yes, `feature`
 * is that of a copy of the row in which NaN is -∞.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct TreeNode {
  float split; /* in a leaf, what its caller likes */
  uint32_t feature, next[2];
} TreeNode;

typedef struct WideTreeNode {
  double split;
  uint32_t feature, next[2];
} WideTreeNode;

/* The leaf that each row ends in: nodes from number `leaves` on are leaves. The way from the root must end. */
void tree_walk(const TreeNode *nodes, uint32_t root, uint32_t leaves, const float *x, size_t stride, size_t rows,
               uint32_t *leaf);
void tree_walk_wide(const WideTreeNode *nodes, uint32_t root, uint32_t leaves, const double *x, size_t stride,
                    size_t rows, uint32_t *leaf);
