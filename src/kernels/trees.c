/* Trees: the walk, for float32 and for float64. */
#include "kernels/trees.h"

#include <stdbool.h>

enum { SIDE_BY_SIDE = 8, LEVELS = 4 }; /* rows at once; levels between two looks whether all have arrived */

#define STEP(k) at[k] = nodes[at[k]].next[x[k * stride + nodes[at[k]].feature] <= nodes[at[k]].split]

static void walk_eight(const TreeNode *nodes, uint32_t root, uint32_t leaves, const float *x, size_t stride,
                       uint32_t *leaf) {
  uint32_t at[SIDE_BY_SIDE];
  for (int k = 0; k < SIDE_BY_SIDE; k++) at[k] = root;
  for (bool arrived = false; !arrived;) {
    for (int level = 0; level < LEVELS; level++) STEP(0), STEP(1), STEP(2), STEP(3), STEP(4), STEP(5), STEP(6), STEP(7);
    arrived = true;
    for (int k = 0; k < SIDE_BY_SIDE; k++) arrived &= at[k] >= leaves;
  }
  for (int k = 0; k < SIDE_BY_SIDE; k++) leaf[k] = at[k];
}

void tree_walk(const TreeNode *nodes, uint32_t root, uint32_t leaves, const float *x, size_t stride, size_t rows,
               uint32_t *leaf) {
  size_t row = 0;
  for (; row + SIDE_BY_SIDE <= rows; row += SIDE_BY_SIDE)
    walk_eight(nodes, root, leaves, x + row * stride, stride, leaf + row);
  for (; row < rows; row++) {
    uint32_t at = root;
    while (at < leaves) at = nodes[at].next[x[row * stride + nodes[at].feature] <= nodes[at].split];
    leaf[row] = at;
  }
}

void tree_walk_wide(const WideTreeNode *nodes, uint32_t root, uint32_t leaves, const double *x, size_t stride,
                    size_t rows, uint32_t *leaf) {
  for (size_t row = 0; row < rows; row++) {
    uint32_t at = root;
    while (at < leaves) at = nodes[at].next[x[row * stride + nodes[at].feature] <= nodes[at].split];
    leaf[row] = at;
  }
}
