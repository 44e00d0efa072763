/* CausalConvWithState: each channel of (N, C, T) with a kernel of its own, which sees this and the k - 1 positions
 * before; those before the first are the past state, or 0. The last k - 1 positions are the state that follows. */
#include <string.h>

#include "graph/expansion.h"
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

/* Each channel is a group of a Conv. */
static Value *conv(Expansion *c, Value *x, Dim channels, Value *bias) {
  AttrList group = ATTRS(attr_of_int("group", channels));
  Value *w = c->node->in[1];
  return bias ? emit_with(c->graph, "Conv", group, x, w, bias) : emit_with(c->graph, "Conv", group, x, w);
}

/* Multiplies each channel's kernel, a row, by its windows, the columns. The bias is the weight of a 1 before them: Conv
 * adds it first, too. */
static Value *window_products(Expansion *c, Value *x, Value *bias) {
  Graph *g = c->graph;
  Value *w = c->node->in[1], *tap = expand_range(c, expand_dim(c, w, 2, false)),
        *at = emit(g, "Add", emit(g, "Reshape", tap, emit_ints(g, (int64_t[]){-1, 1}, 2)),
                   expand_range(c, expand_dim(c, c->node->in[0], 2, false))),
        *windows = emit_with(g, "Gather", ATTRS(attr_of_int("axis", 2)), x, at);
  if (bias) {
    Value *front = emit_ints(g, (int64_t[]){0, 0, 1, 0, 0, 0, 0, 0}, 8);
    windows = emit(g, "Pad", windows, front, expand_number(c, x, 1));
    bias = emit(g, "Reshape", bias, emit_ints(g, (int64_t[]){-1, 1, 1}, 3));
    w = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 2)), bias, w);
  }
  return emit(g, "Reshape", emit(g, "MatMul", w, windows), emit_ints(g, (int64_t[]){0, 0, -1}, 3));
}

static Status causal_conv_expand(Expansion *c) {
  Graph *g = c->graph;
  Value **in = c->node->in, *past = expand_in(c, 3), *bias = expand_in(c, 2);
  bool silu;
  TRY(check(c->node, &silu));
  int from = dim_is_number(in[0]->shape.dim[1]) ? 0 : 1; /* the input with known channels: x, else the weights */
  Dim channels = in[from]->shape.dim[!from];
  if (g->deferral.tries) TRY(node_want_number(c->node, from, !from));
  Value *zeros = emit_ints(g, (int64_t[]){0, 0}, 2), *axis = emit_ints(g, (int64_t[]){2}, 1),
        *before = emit(g, "Sub", expand_dim(c, in[1], 2, true), emit_ints(g, (int64_t[]){1}, 1));
  AttrList along = ATTRS(attr_of_int("axis", past ? 2 : 0));
  Value *x = past ? emit_with(g, "Concat", along, past, in[0])
                  : emit(g, "Pad", in[0],
                         emit_with(g, "Concat", along, zeros, before, zeros, emit_ints(g, (int64_t[]){0}, 1))),
        *y = dim_is_number(channels) ? conv(c, x, channels, bias) : window_products(c, x, bias);
  if (silu) y = emit_with(g, "QuickGelu", ATTRS(attr_of_float("alpha", 1)), y);
  if (c->node->out_count > 1)
    c->out[1] = emit(g, "Slice", x, emit(g, "Sub", expand_dim(c, x, 2, true), before),
                     emit_ints(g, (int64_t[]){INT64_MAX}, 1), axis);
  return expand_done(c, y);
}

OPERATOR(causal_conv_with_state) = {
    .name = "CausalConvWithState",
    .since = {27},
    .inputs = {2, 4},
    .outputs = {1, 2},
    .weights = 1 << 1,
    .biases = 1 << 2,
    .expand = causal_conv_expand,
    .cases = CASES({"f32[2,3,5] f32[3,1,3]", NULL, 27, 2, .no_grad = "also of its second output"},
                   {"f32[2,3,5] f32[3,1,3] f32[3] f32[2,3,2]", "activation=silu", 27},
                   {"f32[2,5,9] f32[5,1,7] f32[5]", NULL, 27}, {"f32[1,2,4] f32[2,1,1]", "activation=swish", 27},
                   {"f32[1,2,1] f32[2,1,4] - f32[1,2,3]", NULL, 27, 2, .no_grad = "also of its second output"}),
};
