/* EyeLike: 1 on the k-th diagonal, else 0, in the shape of x. */
#include "graph/compose.h"

static Status eye_like_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  TRY(node_want_rank(c->node, 0, 2, 2));
  int64_t k = node_int(c->node, "k", 0), last = -1;
  Value *row = compose_range(c, compose_dim(c, x, 0, false)), *column = compose_range(c, compose_dim(c, x, 1, false));
  row = emit(g, "Add", emit(g, "Reshape", row, emit_ints(g, (int64_t[]){last, 1}, 2)), emit_ints(g, &k, 1));
  DType type = (DType)node_int(c->node, "dtype", x->type);
  return compose_done(c, compose_cast(c, emit(g, "Equal", row, column), type));
}

OPERATOR(eye_like) = {
    .name = "EyeLike",
    .since = {9, 22},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .compose = eye_like_compose,
    .cases = CASES({"f32[3,4]", "k=1", .no_grad = "constant"}, {"i64[2,2]", .no_grad = "constant"},
                   {"f32[3,2]", "k=-1 dtype=11", .no_grad = "constant"}),
};
