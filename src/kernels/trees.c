/* Trees: the walk, for float32 and for float64. */
#include "kernels/trees.h"

#include <stdbool.h>

enum { SIDE_BY_SIDE = 8, LEVELS = 4 }; /* rows at once; levels between two looks whether all have arrived */

#define TREE_STEP(k) at[k] = nodes[at[k]].next[x[k * stride + nodes[at[k]].feature] <= nodes[at[k]].split]
#define TREE_LEVEL                                                                                                     \
  TREE_STEP(0), TREE_STEP(1), TREE_STEP(2), TREE_STEP(3), TREE_STEP(4), TREE_STEP(5), TREE_STEP(6), TREE_STEP(7)

#define TREE_WALK(name, NODE, NUMBER)                                                                                  \
  static void name##_eight(const NODE *nodes, uint32_t root, uint32_t leaves, const NUMBER *x, size_t stride,          \
                           uint32_t *leaf) {                                                                           \
    uint32_t at[SIDE_BY_SIDE];                                                                                         \
    for (int k = 0; k < SIDE_BY_SIDE; k++) at[k] = root;                                                               \
    for (bool arrived = false; !arrived;) {                                                                            \
      for (int level = 0; level < LEVELS; level++) TREE_LEVEL;                                                         \
      arrived = true;                                                                                                  \
      for (int k = 0; k < SIDE_BY_SIDE; k++) arrived &= at[k] >= leaves;                                               \
    }                                                                                                                  \
    for (int k = 0; k < SIDE_BY_SIDE; k++) leaf[k] = at[k];                                                            \
  }                                                                                                                    \
                                                                                                                       \
  void name(const NODE *nodes, uint32_t root, uint32_t leaves, const NUMBER *x, size_t stride, size_t rows,            \
            uint32_t *leaf) {                                                                                          \
    size_t row = 0;                                                                                                    \
    for (; row + SIDE_BY_SIDE <= rows; row += SIDE_BY_SIDE)                                                            \
      name##_eight(nodes, root, leaves, x + row * stride, stride, leaf + row);                                         \
    for (; row < rows; row++) {                                                                                        \
      uint32_t at = root;                                                                                              \
      while (at < leaves) at = nodes[at].next[x[row * stride + nodes[at].feature] <= nodes[at].split];                 \
      leaf[row] = at;                                                                                                  \
    }                                                                                                                  \
  }

TREE_WALK(tree_walk, TreeNode, float)
TREE_WALK(tree_walk_wide, WideTreeNode, double)
