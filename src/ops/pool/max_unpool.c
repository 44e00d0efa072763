/* MaxUnpool: zeros, except for the largest of each window, which go back to where MaxPool's Indices say they were. */
#include "graph/expansion.h"
#include "ops/conv/window.h"

/* The shape that MaxPool with these attributes was given, if no window was cut off: (x - 1) · stride + kernel - pads.
 */
static Status shape_before(Expansion *c, Value **shape) {
  Graph *g = c->graph;
  const Node *n = c->node;
  Shape y = *expand_shape(c, 0);
  int64_t more[3];
  WindowAttrs w;
  TRY(window_attrs(n, y.rank - 2, NULL, &w));
  for (int a = 0; a < w.rank; a++) {
    Dim *size = &y.dim[2 + a];
    more[a] = w.kernel[a] - w.stride[a] - w.pad_begin[a] - w.pad_end[a];
    if (!dim_is_number(*size)) continue;
    if (*size < 1 || *size > (Dim)1 << 32 || *size * w.stride[a] + more[a] < 1)
      return node_invalid(n, "the size of X along spatial dimension %d is %lld", a, (long long)*size);
    *size = *size * w.stride[a] + more[a];
  }
  if (shape_is_concrete(&y)) return *shape = emit_ints(g, y.dim, y.rank), STATUS_OK;
  Value *x = emit_shape(g, n->in[0]), *two = emit_ints(g, (int64_t[]){2}, 1);
  Value *planes = emit(g, "Slice", x, emit_ints(g, (int64_t[]){0}, 1), two),
        *sizes = emit(g, "Slice", x, two, emit_ints(g, (int64_t[]){INT64_MAX}, 1));
  sizes = emit(g, "Add", emit(g, "Mul", sizes, emit_ints(g, w.stride, w.rank)), emit_ints(g, more, w.rank));
  *shape = emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), planes, sizes);
  return STATUS_OK;
}

static Status max_unpool_expand(Expansion *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *x = n->in[0], *shape = expand_in(c, 2);
  TRY(node_want_float(n, 0));
  TRY(node_want_type(n, 1, DTYPE_INT64));
  TRY(node_want_rank(n, 0, 3, 5));
  if (!shape) TRY(shape_before(c, &shape));
  Value *flat = emit_ints(g, (int64_t[]){-1}, 1);
  Value *zeros = emit(g, "Reshape", emit(g, "ConstantOfShape", shape), flat);
  Value *y = emit(g, "ScatterElements", zeros, emit(g, "Reshape", n->in[1], flat), emit(g, "Reshape", x, flat));
  return expand_done(c, emit(g, "Reshape", y, shape));
}

OPERATOR(max_unpool) = {
    .name = "MaxUnpool",
    .since = {9, 11, 22},
    .inputs = {2, 3},
    .expand = max_unpool_expand,
    .cases = CASES({"f32[1,1,2,2] v:i64[1,1,2,2]=5,7,13,15", "kernel_shape=[2,2] strides=[2,2]"},
                   {"f32[1,2,2] v:i64[1,2,2]=1,2,5,9 i64[3]=1,2,5", "kernel_shape=[2] strides=[2]"}),
};
