/* CausalConvWithState: each channel of (N, C, T) with a kernel of its own, which sees this and the k - 1 positions
 * before; those before the first are the past state, or 0. The last k - 1 positions are the state that follows. */
#include <string.h>

#include "graph/compose.h"
#include "graph/dims.h"

static Status check(const Node *n, bool *silu) {
  const char *activation = node_string(n, "activation", "none");
  TRY(node_want_rank(n, 0, 3, 3));
  TRY(node_want_rank(n, 1, 3, 3));
  if (has_in(n, 3)) TRY(node_want_rank(n, 3, 3, 3));
  const Shape *w = &n->in[1]->shape;
  if (!dims_meet(w->dim[1], 1) || w->dim[2] == 0)
    return node_invalid(n, "input 1, the kernels, must be of shape (channels, 1, k)");
  *silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
  if (*silu || strcmp(activation, "none") == 0) return STATUS_OK;
  return node_fail(n, STATUS_UNSUPPORTED_OP, "activation is '%.40s', it must be silu, swish or none", activation);
}

static Status causal_conv_compose(Compose *c) {
  Graph *g = c->graph;
  Value **in = c->node->in, *past = compose_in(c, 3), *bias = compose_in(c, 2);
  bool silu;
  TRY(check(c->node, &silu));
  int known = dim_is_number(in[0]->shape.dim[1]) ? 0 : 1; /* of the two that have the channels */
  TRY(node_want_number(c->node, known, !known));
  AttrList group = ATTRS(attr_of_int("group", in[known]->shape.dim[!known]));
  Value *zeros = emit_ints(g, (int64_t[]){0, 0}, 2), *axis = emit_ints(g, (int64_t[]){2}, 1),
        *before = emit(g, "Sub", compose_dim(c, in[1], 2, true), emit_ints(g, (int64_t[]){1}, 1));
  AttrList along = ATTRS(attr_of_int("axis", past ? 2 : 0));
  Value *x = past ? emit_with(g, "Concat", along, past, in[0])
                  : emit(g, "Pad", in[0],
                         emit_with(g, "Concat", along, zeros, before, zeros, emit_ints(g, (int64_t[]){0}, 1))),
        *y = bias ? emit_with(g, "Conv", group, x, in[1], bias) : emit_with(g, "Conv", group, x, in[1]);
  if (silu) y = emit_with(g, "QuickGelu", ATTRS(attr_of_float("alpha", 1)), y);
  if (c->node->out_count > 1)
    c->out[1] = emit(g, "Slice", x, emit(g, "Sub", compose_dim(c, x, 2, true), before),
                     emit_ints(g, (int64_t[]){INT64_MAX}, 1), axis);
  return compose_done(c, y);
}

OPERATOR(causal_conv_with_state) = {
    .name = "CausalConvWithState",
    .since = {27},
    .inputs = {2, 4},
    .outputs = {1, 2},
    .weights = 1 << 1,
    .biases = 1 << 2,
    .compose = causal_conv_compose,
    .cases = CASES({"f32[2,3,5] f32[3,1,3]", NULL, 27, 2, .no_grad = "also of its second output"},
                   {"f32[2,3,5] f32[3,1,3] f32[3] f32[2,3,2]", "activation=silu", 27},
                   {"f32[1,2,4] f32[2,1,1]", "activation=swish", 27},
                   {"f32[1,2,1] f32[2,1,4] - f32[1,2,3]", NULL, 27, 2, .no_grad = "also of its second output"}),
};
