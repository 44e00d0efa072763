/* Softmax axis: read once, asked by run and by grad. */
#include "kernels/softmax_axis.h"

#include "kernels/same_shape.h"

typedef struct SoftmaxAxis {
  int axis;
  bool flattens;
} SoftmaxAxis;

Status softmax_axis_infer(Node *n, bool flattens) {
  SoftmaxAxis *p = NODE_PARAMS(n, SoftmaxAxis);
  if (!p) return STATUS_OUT_OF_MEMORY;
  p->flattens = flattens;
  for (int i = 0; i < n->in_count; i++) {
    TRY(node_want_float(n, i));
    TRY(same_shape_want(n, 0, i));
  }
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  TRY(node_axis(n, node_int(n, "axis", flattens ? 1 : -1), n->in[0]->shape.rank, &p->axis));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

SoftmaxDims softmax_axis_dims(const Node *n) {
  const SoftmaxAxis *p = n->params;
  const Shape *x = &n->in[0]->shape;
  int end = p->flattens ? x->rank : p->axis + 1;
  return (SoftmaxDims){shape_span(x, 0, p->axis), shape_span(x, p->axis, end), shape_span(x, end, x->rank)};
}

Value *softmax_axis_gradient(Grad *g, const char *op_name) {
  Node *n = g->node;
  const SoftmaxAxis *p = n->params;
  Value *dy = g->dy[0], *y = n->out[0];
  AttrList axis = ATTRS(attr_of_int("axis", p->axis));
  if (!p->flattens || p->axis == y->shape.rank - 1) return emit_with(g->graph, op_name, axis, dy, y);
  int64_t to[RANK_MAX] = {0};
  to[p->axis] = -1;
  Value *flat = emit_ints(g->graph, to, p->axis + 1); /* (0, …, -1): the dims before the axis, then all others as one */
  Value *dx = emit_with(g->graph, op_name, axis, emit(g->graph, "Reshape", dy, flat), emit(g->graph, "Reshape", y, flat));
  return emit(g->graph, "Reshape", dx, emit_shape(g->graph, y));
}
