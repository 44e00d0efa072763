/* CenterCropPad: x brought to another size along some axes, its middle in the middle: cut off, or zeros put around.
 * dx is dy brought back to x's size in the same way. */
#include <string.h>

#include "graph/op.h"

static Status center_crop_pad_infer(Node *n) {
  Shape y = n->in[0]->shape;
  const Dim *to;
  int given, sizes, axis;
  const int64_t *axes = node_ints(n, "axes", &given);
  if (!axes) given = y.rank;
  TRY(node_known(n, 1, &to, &sizes));
  if (sizes != given) return node_invalid(n, "there are %d sizes for %d axes", sizes, given);
  for (int i = 0; i < given; i++) {
    TRY(node_axis(n, axes ? axes[i] : i, y.rank, &axis));
    if (!dim_is_number(to[i]) && !dim_is_symbol(to[i]))
      return node_invalid(n, "the size of axis %d is %lld", axis, (long long)to[i]);
    y.dim[axis] = to[i];
  }
  return node_output(n, 0, n->in[0]->type, &y);
}

/* Bytes of the part of x that is in y, from dim `axis` on; every part is the middle one. */
static void copy_middle(const Shape *x, const Shape *y, int axis, size_t item, const char *from, char *to) {
  if (axis == x->rank) {
    memcpy(to, from, item);
    return;
  }
  size_t from_step = item * shape_span(x, axis + 1, x->rank), to_step = item * shape_span(y, axis + 1, y->rank);
  int64_t less = x->dim[axis] - y->dim[axis], count = less > 0 ? y->dim[axis] : x->dim[axis];
  if (less > 0) from += (size_t)(less / 2) * from_step;
  else to += (size_t)(-less / 2) * to_step;
  bool whole = axis == x->rank - 1;
  if (whole && count) memcpy(to, from, (size_t)count * item);
  for (int64_t i = 0; i < count && !whole; i++)
    copy_middle(x, y, axis + 1, item, from + (size_t)i * from_step, to + (size_t)i * to_step);
}

static void center_crop_pad_run(const Node *n) {
  const Value *x = n->in[0], *y = n->out[0];
  size_t item = dtype_bytes(x->type);
  if (out_count(n, 0)) memset(y->data, 0, out_count(n, 0) * item);
  if (out_count(n, 0) && in_count(n, 0)) copy_middle(&x->shape, &y->shape, 0, item, x->data, y->data);
}

static Status center_crop_pad_grad(Grad *g) {
  Node *n = g->node;
  int count;
  const int64_t *axes = node_ints(n, "axes", &count);
  Value *size = emit_shape(g->graph, n->in[0]);
  if (axes) size = emit(g->graph, "Gather", size, emit_ints(g->graph, axes, count));
  AttrList attrs = {n->attrs, n->attr_count};
  g->dx[0] = emit_with(g->graph, "CenterCropPad", attrs, g->dy[0], size);
  return STATUS_OK;
}

OPERATOR(center_crop_pad) = {
    .name = "CenterCropPad",
    .since = {18},
    .inputs = {2, 2},
    .flags = OP_ANY_TYPE,
    .infer = center_crop_pad_infer,
    .run = center_crop_pad_run,
    .grad = GRADIENT(center_crop_pad_grad),
    .cases = CASES({"f32[5,4,3] i64[3]=2,7,3", "", 18}, {"f32[2,7,4] i64[2]=4,9", "axes=[1,-1]", 18},
                   {"f32[2,7,4] i64[2]=10,3", "axes=[2,1]", 18}, {"f32[3,4,2] i64[1]=7", "axes=[0]", 18},
                   {"i64[3] i64[1]=5", "", 18}),
};
