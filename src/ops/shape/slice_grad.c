/* SliceGrad (com.microsoft; dY, shape, starts, ends, axes?, steps?): zeros of the shape with dY where Slice took x. */
#include <string.h>

#include "graph/dims.h"
#include "ops/shape/slice_part.h"

static Status slice_grad_infer(Node *n) {
  const Shape *dy = &n->in[0]->shape;
  const Dim *dims;
  Shape dx = {0};
  Slice *s = NODE_PARAMS(n, Slice);
  if (!s) return STATUS_OUT_OF_MEMORY;
  TRY(dims_known(n, 1, &dims, &dx.rank));
  if (dx.rank != dy->rank) return node_invalid(n, "the shape has %d dimensions, dY %d", dx.rank, dy->rank);
  for (int i = 0; i < dx.rank; i++) {
    dx.dim[i] = dims ? dims[i] : graph_fresh_dim(n->graph);
    if (!dim_is_number(dx.dim[i]) && !dim_is_symbol(dx.dim[i]))
      return node_invalid(n, "dim %d of the shape is negative", i);
  }
  TRY(slice_read(n, 2, &dx, s));
  char tx[SHAPE_TEXT], ty[SHAPE_TEXT];
  if (shape_is_concrete(&s->shape) && shape_is_concrete(dy) && !shape_equal(&s->shape, dy))
    return node_invalid(n, "dY is %s, the slice has %s", shape_print(dy, ty), shape_print(&s->shape, tx));
  return node_output(n, 0, n->in[0]->type, &dx);
}

static void slice_grad_run(const Node *n) {
  Value *dx = n->out[0];
  size_t item = dtype_bytes(dx->type), bytes = out_count(n, 0) * item;
  ptrdiff_t at;
  Strided layout = slice_layout(n->params, &dx->shape, &at);
  if (bytes) memset(dx->data, 0, bytes);
  for (int i = 0; i < layout.rank; i++) { /* the part is what comes now, the whole is where it goes */
    StridedDim d = layout.dim[i];
    layout.dim[i] = (StridedDim){d.count, d.from, d.to};
  }
  strided_copy((char *)dx->data + at * (ptrdiff_t)item, n->in[0]->data, layout, item);
}

OPERATOR(slice_grad) = {
    .name = "SliceGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {4, 6},
    .flags = OP_FLOAT64,
    .infer = slice_grad_infer,
    .run = slice_grad_run,
    .cases = CASES({"f32[2,4] i64[2]=4,5 i64[2]=1,0 i64[2]=3,4"},
                   {"f32[3] i64[1]=6 i64[1]=-1 i64[1]=-7 i64[1]=0 i64[1]=-2"},
                   {"f32[4,2] i64[2]=4,5 i64[1]=0 i64[1]=99 i64[1]=1 i64[1]=3"}),
};
