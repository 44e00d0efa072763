/* ArgMin: where the smallest x lies along an axis, as ArgMax of -x. */
#include "graph/expansion.h"

static Status arg_min_expand(Expansion *c) {
  AttrList attrs = {c->node->attrs, c->node->attr_count};
  return expand_done(c, emit_with(c->graph, "ArgMax", attrs, emit(c->graph, "Neg", c->node->in[0])));
}

OPERATOR(arg_min) = {
    .name = "ArgMin",
    .since = {1, 11, 12, 13},
    .inputs = {1, 1},
    .flags = OP_FLOAT64 | OP_WIDE_OUT,
    .expand = arg_min_expand,
    .cases = CASES({"f32[2,3,4]", "axis=1", .no_grad = "positions"},
                   {"v:f32[4]=2,1,1,3", "select_last_index=1", 13, .no_grad = "positions"}),
};
