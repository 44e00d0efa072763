/* Asinh: y = sign x·log(|x| + √(x² + 1)). */
#include "graph/expansion.h"

static Status asinh_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *a = emit(g, "Abs", x), *root = emit(g, "Sqrt", emit(g, "Add", emit(g, "Mul", a, a), expand_number(c, x, 1)));
  return expand_done(c, emit(g, "Mul", emit(g, "Sign", x), emit(g, "Log", emit(g, "Add", a, root))));
}

OPERATOR(asinh) = {
    .name = "Asinh",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = asinh_expand,
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-50..50"}),
};
