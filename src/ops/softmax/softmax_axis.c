/* Softmax axis: read once, asked by run and by grad. */
#include "ops/softmax/softmax_axis.h"

#include "graph/same_shape.h"
#include "part.h"

Status softmax_axis_infer(Node *n) {
  int *axis = NODE_PARAMS(n, int);
  if (!axis) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < n->in_count; i++) {
    TRY(node_want_float(n, i));
    TRY(same_shape_want(n, 0, i));
  }
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  TRY(node_axis(n, node_int(n, "axis", -1), n->in[0]->shape.rank, axis));
  const char *missing = node_is_concrete(n) ? softmax_missing(softmax_axis_dims(n)) : NULL;
  if (missing) return part_missing(n->graph->error, missing);
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

SoftmaxDims softmax_axis_dims(const Node *n) {
  int axis = *(const int *)n->params;
  const Shape *x = &n->in[0]->shape;
  return (SoftmaxDims){shape_span(x, 0, axis), shape_span(x, axis, axis + 1), shape_span(x, axis + 1, x->rank)};
}

Value *softmax_axis_gradient(Grad *g, const char *op_name) {
  Node *n = g->node;
  return emit_with(g->graph, op_name, ATTRS(attr_of_int("axis", *(const int *)n->params)), g->dy[0], n->out[0]);
}

Status softmax_axis_flatten(Expansion *c, const char *op_name) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis;
  TRY(node_want_rank(c->node, 0, 1, RANK_MAX));
  TRY(node_axis(c->node, node_int(c->node, "axis", 1), x->shape.rank, &axis));
  AttrList last = ATTRS(attr_of_int("axis", -1));
  if (axis == x->shape.rank - 1) return c->out[0] = emit_with(g, op_name, last, x), g->error->status;
  int64_t to[RANK_MAX] = {0};
  to[axis] = -1;
  Value *flat = emit_with(g, op_name, last, emit(g, "Reshape", x, emit_ints(g, to, axis + 1)));
  return c->out[0] = emit(g, "Reshape", flat, emit_shape(g, x)), g->error->status;
}
