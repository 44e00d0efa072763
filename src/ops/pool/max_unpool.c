/* MaxUnpool: zeros, except for the largest of each window, which go back to where MaxPool's Indices say they were. */
#include "graph/compose.h"
#include "ops/conv/window.h"

/* What MaxPool with these attributes would have been given, when no window was cut off. */
static Status size_before(const Compose *c, Shape *y) {
  const Node *n = c->node;
  const Shape *x = compose_shape(c, 0);
  WindowAttrs w;
  TRY(window_attrs(n, x->rank - 2, NULL, &w));
  *y = *x;
  for (int a = 0; a < w.rank; a++) {
    Dim in = x->dim[2 + a];
    TRY(compose_want_number(c, 0, 2 + a));
    if (in < 1 || in > (Dim)1 << 32)
      return node_invalid(n, "the size of X along spatial dimension %d is %lld", a, (long long)in);
    y->dim[2 + a] = (in - 1) * w.stride[a] + w.kernel[a] - w.pad_begin[a] - w.pad_end[a];
    if (y->dim[2 + a] < 1) return node_invalid(n, "its output would have the size %lld", (long long)y->dim[2 + a]);
  }
  return STATUS_OK;
}

static Status max_unpool_compose(Compose *c) {
  Graph *g = c->graph;
  Node *n = c->node;
  Value *x = n->in[0], *shape = compose_in(c, 2);
  TRY(node_want_float(n, 0));
  TRY(node_want_type(n, 1, DTYPE_INT64));
  TRY(node_want_rank(n, 0, 3, 5));
  if (!shape) {
    Shape y;
    TRY(size_before(c, &y));
    Value *planes = emit(g, "Slice", emit_shape(g, x), emit_ints(g, (int64_t[]){0}, 1),
                         emit_ints(g, (int64_t[]){2}, 1));
    shape = shape_is_concrete(&y)
              ? emit_ints(g, y.dim, y.rank)
              : emit_with(g, "Concat", ATTRS(attr_of_int("axis", 0)), planes, emit_ints(g, y.dim + 2, y.rank - 2));
  }
  Value *flat = emit_ints(g, (int64_t[]){-1}, 1);
  Value *zeros = emit(g, "Reshape", emit(g, "ConstantOfShape", shape), flat);
  Value *y = emit(g, "ScatterElements", zeros, emit(g, "Reshape", n->in[1], flat), emit(g, "Reshape", x, flat));
  return compose_done(c, emit(g, "Reshape", y, shape));
}

OPERATOR(max_unpool) = {
    .name = "MaxUnpool",
    .since = {9, 11, 22},
    .inputs = {2, 3},
    .compose = max_unpool_compose,
    .cases = CASES({"f32[1,1,2,2] v:i64[1,1,2,2]=5,7,13,15", "kernel_shape=[2,2] strides=[2,2]"},
                   {"f32[1,2,2] v:i64[1,2,2]=1,2,5,9 i64[3]=1,2,5", "kernel_shape=[2] strides=[2]"}),
};
