/* Multinomial: draws of classes, each with the probability that softmax gives it: the first class whose sum of
 * probabilities is above a uniform draw. */
#include "graph/expansion.h"

static Status multinomial_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *x = n->in[0];
  int64_t count = node_int(n, "sample_size", 1), axis = 2;
  const Attr *seed = node_attr(n, "seed", ATTR_FLOAT);
  TRY(node_want_rank(n, 0, 2, 2));
  TRY(node_want_float(n, 0));
  if (count < 0) return node_invalid(n, "sample_size is %lld", (long long)count);
  /* The last class takes what is left: its sum of probabilities may be less than 1 by rounding. */
  Value *sums = emit(g, "CumSum", emit_with(g, "Softmax", ATTRS(attr_of_int("axis", 1)), x),
                     emit_ints(g, (int64_t[]){1}, 1));
  Value *bounds = emit(g, "Slice", sums, emit_ints(g, (int64_t[]){0}, 1), emit_ints(g, (int64_t[]){-1}, 1),
                       emit_ints(g, (int64_t[]){1}, 1));
  bounds = emit(g, "Reshape", bounds,
                emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), expand_dim(c, x, 0, true),
                          emit_ints(g, (int64_t[]){1, -1}, 2)));
  Value *shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), expand_dim(c, x, 0, true),
                           emit_ints(g, (int64_t[]){count, 1}, 2));
  Value *draws = emit_with(g, "RandomUniformLike", seed ? ATTRS(*seed) : NO_ATTRS, emit(g, "ConstantOfShape", shape));
  Value *passed = expand_cast(c, emit(g, "GreaterOrEqual", draws, bounds), DTYPE_FLOAT32);
  Value *y = expand_reduce(c, "ReduceSum", passed, &axis, 1, false);
  return expand_done(c, expand_cast(c, y, (DType)node_int(n, "dtype", DTYPE_INT32)));
}

OPERATOR(multinomial) = {
    .name = "Multinomial",
    .since = {7, 22},
    .inputs = {1, 1},
    .expand = multinomial_expand,
    .cases = CASES({"v:f32[2,3]=90,1,2,0,1,80", "sample_size=4", 7, 0, "a draw"},
                   {"v:f32[1,1]=3", "sample_size=2 dtype=7", 22, 0, "a draw"}),
};
