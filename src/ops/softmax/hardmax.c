/* Hardmax: 1 where the largest x lies along the axis, the first of several, else 0. */
#include "graph/expansion.h"
#include "ops/softmax/softmax_axis.h"

static Value *emit_off_on(Expansion *c, Value *x) {
  Value *off = expand_number(c, x, 0), *on = expand_number(c, x, 1), *one = emit_ints(c->graph, (int64_t[]){1}, 1);
  return emit_with(c->graph, "Concat", ATTRS(attr_of_int("axis", 0)), emit(c->graph, "Reshape", off, one),
                   emit(c->graph, "Reshape", on, one));
}

static Status hardmax_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis, rank = x->shape.rank;
  TRY(node_axis(c->node, node_int(c->node, "axis", -1), rank, &axis));
  bool alone = rank == 1; /* OneHot takes no scalar */
  Value *at = emit_with(g, "ArgMax", ATTRS(attr_of_int("axis", axis), attr_of_int("keepdims", alone)), x);
  Value *y = emit_with(g, "OneHot", ATTRS(attr_of_int("axis", axis + alone)), at, expand_dim(c, x, axis, false),
                       emit_off_on(c, x));
  return expand_done(c, alone ? emit(g, "Reshape", y, emit_shape(g, x)) : y);
}

SOFTMAX_FLAT(hardmax, "Hardmax")

OPERATOR(hardmax) = {
    .name = "Hardmax",
    .since = {1, 11, 13},
    .inputs = {1, 1},
    .flags = OP_FLOAT64,
    .expand = hardmax_expand,
    .upgrade = hardmax_upgrade,
    .cases = CASES({"f32[2,3,4]", "axis=1", .no_grad = "constant steps"},
                   {"f32[2,3,4]", "axis=1", 11, .no_grad = "constant steps"},
                   {"f32[3,5]", .no_grad = "constant steps"}),
};
