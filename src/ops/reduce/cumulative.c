/* Cumulative: the axis, and a walk over the lines along it. */
#include "ops/reduce/cumulative.h"

Status cumulative_params(Node *n, int axis_input) {
  const Dim *axis;
  int count;
  Cumulative *p = NODE_PARAMS(n, Cumulative);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (Cumulative){.exclusive = node_int(n, "exclusive", 0) != 0, .reverse = node_int(n, "reverse", 0) != 0};
  TRY(node_want_index(n, axis_input));
  TRY(dims_known(n, axis_input, &axis, &count));
  if (count != 1) return node_invalid(n, "input %d, the axis, must be a scalar", axis_input);
  return axis ? node_axis(n, *axis, n->in[0]->shape.rank, &p->axis) : STATUS_OK;
}

Status cumulative_infer(Node *n) {
  const Value *x = n->in[0];
  if (x->type != DTYPE_INT64 && x->type != DTYPE_INT32 && x->type != DTYPE_FLOAT64) TRY(node_want_float(n, 0));
  TRY(cumulative_params(n, 1));
  return node_output(n, 0, x->type, &x->shape);
}

static CumulativeLines *lines_of(const Node *n) {
  const CumulativeOwn *own = n->op->own;
  switch (n->in[0]->type) {
    case DTYPE_FLOAT32: return own->floats;
    case DTYPE_FLOAT64: return own->doubles;
    case DTYPE_INT64: return own->int64;
    default: return own->int32;
  }
}

void cumulative_run(const Node *n) {
  const Cumulative *p = n->params;
  const Shape *x = &n->in[0]->shape;
  size_t outer = shape_span(x, 0, p->axis), inner = shape_span(x, p->axis + 1, x->rank),
         count = (size_t)x->dim[p->axis], item = dtype_bytes(n->in[0]->type);
  ptrdiff_t step = p->reverse ? -(ptrdiff_t)inner : (ptrdiff_t)inner;
  CumulativeLines *lines = lines_of(n);
  for (size_t o = 0; o < outer && count; o++) {
    size_t at = (o * count + (p->reverse ? count - 1 : 0)) * inner * item;
    lines((const char *)n->in[0]->data + at, (char *)n->out[0]->data + at, count, inner, step, p->exclusive);
  }
}
