/* STFT: the Fourier transforms of a signal's frames, frame_step apart, each weighted by the window. */
#include "graph/expansion.h"
#include "graph/dims.h"

static Status known_number(Node *n, int input, Dim *out) {
  const Dim *dims;
  int count;
  TRY(node_known(n, input, &dims, &count));
  if (count != 1 || dims[0] < 1) return node_invalid(n, "input %d must be a number above 0", input);
  return *out = dims[0], STATUS_OK;
}

static Value *emit_range(Expansion *c, Value *count) {
  return expand_range(c, emit(c->graph, "Reshape", count, emit_ints(c->graph, NULL, 0)));
}

/* Places (frames, length) of the frames in the signal. */
static Value *emit_places(Expansion *c, Value *signal, Dim step, Value *length) {
  Graph *g = c->graph;
  Value *starts = emit(g, "Sub", expand_dim(c, signal, 1, true), length);
  Value *frames = emit(g, "Add", emit(g, "Div", starts, emit_ints(g, &step, 1)), emit_ints(g, (int64_t[]){1}, 1));
  Value *first = emit(g, "Mul", emit_range(c, frames), emit_ints(g, &step, 1));
  return emit(g, "Add", emit(g, "Reshape", first, emit_ints(g, (int64_t[]){-1, 1}, 2)), emit_range(c, length));
}

static Status stft_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *signal = n->in[0], *window = expand_in(c, 2);
  Dim step, length;
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 2));
  TRY(node_want_rank(n, 0, 2, 3));
  TRY(node_want_rank(n, 2, 1, 1));
  TRY(known_number(n, 1, &step));
  if (!window && !has_in(n, 3)) return node_invalid(n, "neither window nor frame_length is given");
  if (has_in(n, 3)) TRY(known_number(n, 3, &length));
  else length = window->shape.dim[0];
  Dim size = signal->shape.dim[1], weights = window ? window->shape.dim[0] : length;
  if (length > 1 << 24 || !dims_meet(weights, length) || (dim_is_number(size) && size < length))
    return node_invalid(n, "frames of %lld numbers, a window of %lld and a signal of %lld do not fit",
                        (long long)length, (long long)weights, (long long)size);
  bool onesided = node_int(n, "onesided", 1) != 0; /* a symbol stands for a dim of real numbers */
  bool complex = signal->shape.rank == 3 && signal->shape.dim[2] == 2;
  if (signal->shape.rank == 2) signal = emit(g, "Reshape", signal, emit_ints(g, (int64_t[]){0, 0, 1}, 3));
  Value *sizes = dim_is_number(length) ? emit_ints(g, &length, 1) : expand_dim(c, window, 0, true);
  Value *frames = emit_with(g, "Gather", ATTRS(attr_of_int("axis", 1)), signal, emit_places(c, signal, step, sizes));
  if (window) frames = emit(g, "Mul", frames, emit(g, "Reshape", window, emit_ints(g, (int64_t[]){-1, 1}, 2)));
  Attr attrs[] = {attr_of_int("onesided", !complex && onesided), attr_of_int("axis", 2)};
  bool as_input = graph_opset(g, "") >= 20;
  Value *in[] = {frames, EMIT_ABSENT, as_input ? emit_int(g, 2) : NULL};
  return expand_done(c, emit_first(g, "DFT", (AttrList){attrs, 2 - as_input}, in, as_input ? 3 : 1));
}

OPERATOR(stft) = {
    .name = "STFT",
    .since = {17},
    .inputs = {2, 4},
    .expand = stft_expand,
    .cases = CASES({"f32[2,20,1] i64[]=4 f32[8] i64[]=8"}, {"f32[2,19,1] i64[]=5 - i64[]=9", "onesided=0"},
                   {"f32[1,20] i64[]=6 f32[6]"}, {"f32[2,12,2] i64[]=3 f32[6]", "onesided=0"}),
};
