/* CastLike: x in the element type of input 1. */
#include "graph/compose.h"

static Status cast_like_compose(Compose *c) {
  return compose_done(c, emit_with(c->graph, "Cast", ATTRS(attr_of_int("to", c->node->in[1]->type)), c->node->in[0]));
}

OPERATOR(cast_like) = {
    .name = "CastLike",
    .since = {15, 19, 21},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .compose = cast_like_compose,
    .cases = CASES({"f32[2,3] f32[1]"}, {"f32[2,3] i64[1]", .no_grad = "ints"},
                   {"v:i64[2,3]=1,2,3,4,5,6 f32[1]", .no_grad = "ints"}),
};
