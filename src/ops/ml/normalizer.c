/* Normalizer: each row divided by its largest number, by the sum of absolute values (L1) or by its length (L2). A row
 * of zeros stays as it is. */
#include "graph/expansion.h"

static Status normalizer_expand(Expansion *c) {
  Graph *g = c->graph;
  static const char *const norms[] = {"MAX", "L1", "L2"}, *const reductions[] = {"ReduceMax", "ReduceL1", "ReduceL2"};
  static const int64_t last = -1;
  int norm;
  TRY(node_want_rank(c->node, 0, 1, 2));
  TRY(node_choice(c->node, "norm", "MAX", norms, 3, &norm));
  Value *x = expand_cast(c, c->node->in[0], DTYPE_FLOAT32);
  Value *by = expand_reduce(c, reductions[norm], x, &last, 1, true);
  Value *is_0 = emit(g, "Equal", by, emit_float(g, 0));
  return expand_done(c, emit(g, "Div", x, emit(g, "Where", is_0, emit_float(g, 1), by)));
}

OPERATOR(normalizer) = {
    .name = "Normalizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .expand = normalizer_expand,
    .cases = CASES({"f32[3,4]:0.5..2", "norm=MAX"}, {"f32[3,4]", "norm=L1"}, {"f32[3,4]", "norm=L2"},
                   {"f32[5]", "norm=L2"}, {"v:f32[2,2]=0*", "norm=L1", .no_grad = "the slope at 0 is not defined"}),
};
