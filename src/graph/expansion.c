/* Expansion: nodes that many expansions emit. */
#include "graph/expansion.h"

#include "graph/known.h"

#include <string.h>

Value *expand_number(Expansion *c, Value *like, double x) {
  if (!like) return NULL;
  if (like->type != DTYPE_FLOAT64) return emit_float(c->graph, (float)x);
  double *data = ARENA_NEW(c->graph->arena, double);
  const char *name = graph_fresh_name(c->graph, "const");
  if (!data || !name) return NULL;
  *data = x;
  return graph_constant(c->graph, name, DTYPE_FLOAT64, &(Shape){0}, data);
}

Value *expand_cast(Expansion *c, Value *x, DType to) {
  return !x || x->type == to ? x : emit_with(c->graph, "Cast", ATTRS(attr_of_int("to", to)), x);
}

Value *expand_reduce(Expansion *c, const char *op, Value *x, const int64_t *axes, int count, bool keepdims) {
  bool as_input = strcmp(op, "ReduceSum") == 0 || graph_opset(c->graph, "") >= 18;
  if (as_input)
    return emit_with(c->graph, op, ATTRS(attr_of_int("keepdims", keepdims)), x, emit_ints(c->graph, axes, count));
  return emit_with(c->graph, op, ATTRS(attr_of_ints("axes", axes, count), attr_of_int("keepdims", keepdims)), x);
}

Value *expand_sum_as(Expansion *c, Value *x) {
  const Node *n = c->node;
  AttrList kept = ATTRS(attr_of_int("keepdims", node_int(n, "keepdims", 1)),
                        attr_of_int("noop_with_empty_axes", node_int(n, "noop_with_empty_axes", 0)));
  int count;
  const int64_t *axes = node_ints(n, "axes", &count);
  if (n->version >= 18 || !count)
    return has_in(n, 1) ? emit_with(c->graph, "ReduceSum", kept, x, n->in[1])
                        : emit_with(c->graph, "ReduceSum", kept, x);
  return expand_reduce(c, "ReduceSum", x, axes, count, node_int(n, "keepdims", 1) != 0);
}

static bool is_number(const Size *s) {
  for (int k = 0; s->of && k < s->count; k++)
    if (!dim_is_number(s->of->shape.dim[s->axis + k])) return false;
  return true;
}

static int64_t number_of(const Size *s) {
  int64_t number = s->times;
  for (int k = 0; s->of && k < s->count; k++) number *= s->of->shape.dim[s->axis + k];
  return s->over ? number / s->over : number;
}

static Value *computed(Expansion *c, const Size *s) {
  Graph *g = c->graph;
  Value *y = expand_dim(c, s->of, s->axis, true);
  for (int k = 1; k < s->count; k++) y = emit(g, "Mul", y, expand_dim(c, s->of, s->axis + k, true));
  if (s->times != 1) y = emit(g, "Mul", y, emit_ints(g, &s->times, 1));
  return s->over ? emit(g, "Div", y, emit_ints(g, &s->over, 1)) : y;
}

Value *expand_sizes(Expansion *c, const Value *x, const Size *sizes, int count) {
  int64_t numbers[RANK_MAX];
  Value *parts[RANK_MAX] = {0};
  bool any = false;
  for (int i = 0; i < count; i++) {
    const Size *s = &sizes[i];
    bool plain = s->count == 1 && s->times == 1 && !s->over, known = is_number(s);
    numbers[i] = known ? number_of(s) : 0;
    if (known || (plain && x && i < x->shape.rank && x->shape.dim[i] == s->of->shape.dim[s->axis])) continue;
    parts[i] = computed(c, s);
    any = true;
  }
  if (!any) return emit_ints(c->graph, numbers, count);
  for (int i = 0; i < count; i++)
    if (!parts[i]) parts[i] = emit_ints(c->graph, &numbers[i], 1);
  return emit_first(c->graph, "Concat", ATTRS(attr_of_int("axis", 0)), parts, count);
}

Value *expand_reshape(Expansion *c, Value *x, const Size *sizes, int count) {
  return x ? emit(c->graph, "Reshape", x, expand_sizes(c, x, sizes, count)) : NULL;
}

bool expand_split(Expansion *c, Value *x, int axis, Value *sizes, int count, Value **parts) {
  Node *n = emit_node(c->graph, "Split", ATTRS(attr_of_int("axis", axis)), (Value *[]){x, sizes}, 2, count, NULL);
  for (int i = 0; n && i < count; i++) parts[i] = n->out[i];
  return n != NULL;
}

Value *expand_dim(Expansion *c, Value *x, int axis, bool vector) {
  int64_t at = axis;
  static const int64_t zero = 0;
  Value *index = vector ? emit_ints(c->graph, &at, 1)
                        : emit(c->graph, "Reshape", emit_ints(c->graph, &at, 1), emit_ints(c->graph, &zero, 0));
  return emit(c->graph, "Gather", emit_shape(c->graph, x), index);
}

bool expand_is_early(const Expansion *c) {
  const Node *n = c->node;
  for (int i = 0; i < n->in_count && !c->graph->deferral.allowed; i++)
    if (has_in(n, i) && !known_data(n->in[i])) return true;
  return false;
}

Status expand_deferred(Expansion *c) {
  const Node *n = c->node;
  Node *itself = graph_node(c->graph, n->op, c->names ? n->name : NULL, n->in, n->in_count, c->names, n->out_count,
                            n->attrs, n->attr_count);
  c->named = itself && c->names;
  for (int i = 0; itself && i < n->out_count; i++) c->out[i] = itself->out[i];
  return c->graph->error->status;
}

Value *expand_normalize(Expansion *c, Value *x, double epsilon) {
  Graph *g = c->graph;
  int last = x ? x->shape.rank - 1 : 0;
  AttrList attrs = ATTRS(attr_of_int("axis", -1), attr_of_float("epsilon", (float)epsilon));
  Value *ones = emit(g, "Expand", emit_float(g, 1), expand_dim(c, x, last, true));
  return emit_with(g, "LayerNormalization", attrs, x, ones);
}

Value *expand_range(Expansion *c, Value *count) {
  return emit(c->graph, "Range", emit_int(c->graph, 0), count, emit_int(c->graph, 1));
}
