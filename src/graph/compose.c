/* Compose: nodes that many compositions emit. */
#include "graph/compose.h"

#include <string.h>

Value *compose_number(Compose *c, Value *like, double x) {
  if (!like) return NULL;
  if (like->type != DTYPE_FLOAT64) return emit_float(c->graph, (float)x);
  double *data = ARENA_NEW(c->graph->arena, double);
  const char *name = graph_fresh_name(c->graph, "const");
  if (!data || !name) return NULL;
  *data = x;
  return graph_constant(c->graph, name, DTYPE_FLOAT64, &(Shape){0}, data);
}

Value *compose_cast(Compose *c, Value *x, DType to) {
  return !x || x->type == to ? x : emit_with(c->graph, "Cast", ATTRS(attr_of_int("to", to)), x);
}

Value *compose_reduce(Compose *c, const char *op, Value *x, const int64_t *axes, int count, bool keepdims) {
  bool as_input = strcmp(op, "ReduceSum") == 0 || graph_opset(c->graph, "") >= 18;
  if (as_input)
    return emit_with(c->graph, op, ATTRS(attr_of_int("keepdims", keepdims)), x, emit_ints(c->graph, axes, count));
  return emit_with(c->graph, op, ATTRS(attr_of_ints("axes", axes, count), attr_of_int("keepdims", keepdims)), x);
}

Value *compose_sum_as(Compose *c, Value *x) {
  const Node *n = c->node;
  AttrList kept = ATTRS(attr_of_int("keepdims", node_int(n, "keepdims", 1)),
                        attr_of_int("noop_with_empty_axes", node_int(n, "noop_with_empty_axes", 0)));
  int count;
  const int64_t *axes = node_ints(n, "axes", &count);
  if (n->version >= 18 || !count)
    return has_in(n, 1) ? emit_with(c->graph, "ReduceSum", kept, x, n->in[1])
                        : emit_with(c->graph, "ReduceSum", kept, x);
  return compose_reduce(c, "ReduceSum", x, axes, count, node_int(n, "keepdims", 1) != 0);
}

Value *compose_reshape(Compose *c, Value *x, Shape to, const Value *like) {
  int64_t dims[RANK_MAX];
  bool left_over = false;
  for (int i = 0; i < to.rank; i++) {
    bool kept = like == x && x && i < x->shape.rank && x->shape.dim[i] == to.dim[i];
    dims[i] = dim_is_number(to.dim[i]) ? to.dim[i] : kept ? 0 : -1;
    if (dims[i] == -1 && left_over) {
      node_fail(c->node, STATUS_UNSUPPORTED_OP, "more than one dimension of its input is unknown");
      return NULL;
    }
    left_over |= dims[i] == -1;
  }
  return emit(c->graph, "Reshape", x, emit_ints(c->graph, dims, to.rank));
}

bool compose_split(Compose *c, Value *x, int axis, const int64_t *sizes, int count, Value **parts) {
  AttrList attrs = ATTRS(attr_of_int("axis", axis), attr_of_ints("split", sizes, count));
  bool as_input = graph_opset(c->graph, "") >= 13;
  if (as_input) attrs.count = 1;
  Node *n = emit_node(c->graph, "Split", attrs, (Value *[]){x, as_input ? emit_ints(c->graph, sizes, count) : NULL},
                      as_input ? 2 : 1, count, NULL);
  for (int i = 0; n && i < count; i++) parts[i] = n->out[i];
  return n != NULL;
}

Value *compose_dim(Compose *c, Value *x, int axis, bool vector) {
  int64_t at = axis;
  static const int64_t zero = 0;
  Value *index = vector ? emit_ints(c->graph, &at, 1)
                        : emit(c->graph, "Reshape", emit_ints(c->graph, &at, 1), emit_ints(c->graph, &zero, 0));
  return emit(c->graph, "Gather", emit_shape(c->graph, x), index);
}

Status compose_want_number(const Compose *c, int input, int axis) {
  if (dim_is_number(compose_shape(c, input)->dim[axis])) return STATUS_OK;
  return node_await(c->node, input, "dimension %d of input %d must be known before the run", axis, input);
}

Value *compose_normalize(Compose *c, Value *x, double epsilon) {
  Graph *g = c->graph;
  int last = x ? x->shape.rank - 1 : 0;
  AttrList attrs = ATTRS(attr_of_int("axis", -1), attr_of_float("epsilon", (float)epsilon));
  Value *ones = emit(g, "Expand", emit_float(g, 1), compose_dim(c, x, last, true));
  return emit_with(g, "LayerNormalization", attrs, x, ones);
}

Value *compose_range(Compose *c, Value *count) {
  return emit(c->graph, "Range", emit_int(c->graph, 0), count, emit_int(c->graph, 1));
}
