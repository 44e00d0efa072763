/* LpPool: y = (Σ |x|^p)^(1/p) over each window. */
#include <string.h>

#include "graph/expansion.h"

static Status lp_pool_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Node *n = c->node;
  int rank;
  const int64_t *kernel = node_ints(n, "kernel_shape", &rank);
  double p = (double)node_int(n, "p", 2), size = 1;
  if (!kernel || p < 1) return node_invalid(n, "needs kernel_shape, and p of 1 or more");
  for (int i = 0; i < rank; i++) size *= (double)kernel[i];
  Attr attrs[8];
  int count = 0;
  for (int i = 0; i < n->attr_count && count < 7; i++)
    if (strcmp(n->attrs[i].name, "p") != 0) attrs[count++] = n->attrs[i];
  attrs[count++] = attr_of_int("count_include_pad", 1);
  Value *mean = emit_with(g, "AveragePool", ((AttrList){attrs, count}),
                          emit(g, "Pow", emit(g, "Abs", x), expand_number(c, x, p)));
  return expand_done(c, emit(g, "Pow", emit(g, "Mul", mean, expand_number(c, x, size)), expand_number(c, x, 1 / p)));
}

OPERATOR(lp_pool) = {
    .name = "LpPool",
    .since = {1, 2, 11, 18, 22},
    .inputs = {1, 1},
    .expand = lp_pool_expand,
    .cases = CASES({"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1]"},
                   {"f32[1,2,5,4]", "kernel_shape=[2,2] p=3 pads=[0,1,0,1]"}),
};
