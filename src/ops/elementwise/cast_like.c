/* CastLike: x in the element type of input 1. */
#include "graph/expansion.h"
#include "kernels/tiny_float.h"

static Status cast_like_expand(Expansion *c) {
  const Node *n = c->node;
  AttrList attrs = ATTRS(attr_of_int("to", n->in[1]->type), attr_of_int("saturate", node_int(n, "saturate", 1)),
                         attr_of_string("round_mode", node_string(n, "round_mode", "up")));
  bool tiny = tiny_is(n->in[1]->type);
  attrs.count = tiny ? attrs.count : 1; /* the others say how a tiny float is rounded */
  return expand_done(c, emit_with(c->graph, "Cast", attrs, n->in[0]));
}

OPERATOR(cast_like) = {
    .name = "CastLike",
    .since = {15, 19, 21},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .expand = cast_like_expand,
    .cases = CASES({"f32[2,3] f32[1]"}, {"f32[2,3] i64[1]", .no_grad = "ints"},
                   {"v:i64[2,3]=1,2,3,4,5,6 f32[1]", .no_grad = "ints"}),
};
