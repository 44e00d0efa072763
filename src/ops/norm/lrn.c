/* LRN: y = x / (bias + alpha / size·Σ x² over `size` channels around)^beta. */
#include "graph/compose.h"

static Status lrn_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int64_t size = node_int(c->node, "size", 0);
  double alpha = (double)node_float(c->node, "alpha", 1e-4f), beta = (double)node_float(c->node, "beta", 0.75f),
         bias = (double)node_float(c->node, "bias", 1);
  TRY(node_want_rank(c->node, 0, 3, RANK_MAX));
  if (size < 1) return node_invalid(c->node, "size is %lld", (long long)size);
  TRY(compose_want_number(c, 0, 1));
  Value *flat = emit(g, "Reshape", emit(g, "Mul", x, x), emit_ints(g, (int64_t[]){0, 1, x->shape.dim[1], -1}, 4));
  int64_t pads[] = {(size - 1) / 2, 0, size / 2, 0}, window[] = {size, 1};
  AttrList pool = ATTRS(attr_of_ints("kernel_shape", window, 2), attr_of_ints("pads", pads, 4),
                        attr_of_int("count_include_pad", 1));
  Value *mean = emit(g, "Reshape", emit_with(g, "AveragePool", pool, flat), emit_shape(g, x));
  Value *base = emit(g, "Add", emit(g, "Mul", mean, compose_number(c, x, alpha)), compose_number(c, x, bias));
  return compose_done(c, emit(g, "Mul", x, emit(g, "Pow", base, compose_number(c, x, -beta))));
}

OPERATOR(lrn) = {
    .name = "LRN",
    .since = {1, 13},
    .inputs = {1, 1},
    .compose = lrn_compose,
    .cases = CASES({"f32[2,5,3,2]", "size=3 alpha=0.5 bias=2.0"}, {"f32[1,4,3]", "size=2 alpha=0.9 beta=0.5"}),
};
