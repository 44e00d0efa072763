/* Cloning: copies what is wanted of a graph into a new one, with numbers for symbols, and with pins for values that are
 * already known. */
#include "graph/op.h"

/* `wanted`: by a value's index. */
static void want(bool *wanted, const Value *v) {
  wanted[v->index] = true;
  for (int i = 0; v->kind == VALUE_SEQUENCE && i < v->item_count; i++) wanted[v->items[i]->index] = true;
}

static void want_inputs(bool *wanted, const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i]) want(wanted, n->in[i]);
}

static bool node_wanted(const bool *wanted, const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && wanted[n->out[i]->index] && !n->out[i]->pin) return true;
  return false;
}

static Value *clone_input(Graph *to, const Value *v, const char *name) {
  Value *copy = graph_value(to, name, v->type, &v->shape, VALUE_INPUT);
  return copy && graph_add_input(to, copy) == STATUS_OK ? copy : NULL;
}

static Value *clone_item(Graph *to, const Value *item) {
  if (item->kind == VALUE_CONSTANT) return graph_constant(to, NULL, item->type, &item->shape, item->data);
  return clone_input(to, item, item->name);
}

/* The constant, the tensor, or the sequence of inputs or constants that stands for v. */
static Value *clone_pin(Graph *to, const Value *v) {
  const Value *pin = v->pin;
  if (pin->kind == VALUE_CONSTANT) return graph_constant(to, v->name, pin->type, &pin->shape, pin->data);
  if (pin->kind == VALUE_INPUT) return clone_input(to, pin, v->name);
  Value **items = ARENA_ARRAY(to->arena, Value *, pin->item_count),
        *copy = graph_value(to, v->name, pin->type, NULL, VALUE_SEQUENCE);
  if (!items || !copy) return NULL;
  for (int i = 0; i < pin->item_count; i++)
    if (!(items[i] = clone_item(to, pin->items[i]))) return NULL;
  copy->items = items;
  copy->item_count = pin->item_count;
  copy->absent = pin->absent;
  return copy;
}

static Value *clone_value(Graph *to, const Value *v, const Dim *numbers) {
  if (v->pin) return clone_pin(to, v);
  if (v->kind == VALUE_CONSTANT) {
    Value *copy = graph_constant(to, v->name, v->type, &v->shape, v->data);
    if (copy) copy->initializer = v->initializer;
    return copy;
  }
  Shape shape = v->shape;
  for (int i = 0; i < shape.rank; i++)
    if (dim_is_symbol(shape.dim[i]) && numbers && numbers[dim_symbol(shape.dim[i])] >= 0)
      shape.dim[i] = numbers[dim_symbol(shape.dim[i])];
  Value *copy = graph_value(to, v->name, v->type, &shape, v->kind);
  if (copy) copy->data = v->data, copy->fixed = v->fixed;
  return copy;
}

/* The copy of a value; the copy of a sequence is made when it is first needed, after those of its items. */
static Value *copy_of(Graph *to, Value *v) {
  if (!v || v->copy || v->kind != VALUE_SEQUENCE) return v ? v->copy : NULL;
  Value **items = ARENA_ARRAY(to->arena, Value *, v->item_count);
  if (!items || !(v->copy = graph_value(to, v->name, v->type, NULL, VALUE_SEQUENCE))) return NULL;
  for (int i = 0; i < v->item_count; i++) items[i] = v->items[i]->copy;
  v->copy->items = items;
  v->copy->item_count = v->item_count;
  v->copy->absent = v->absent;
  return v->copy;
}

static Status out_of_memory(Graph *to) {
  return error_set(to->error, STATUS_OUT_OF_MEMORY, NULL,
                   "out of memory: the clone of a graph needs more than the %zu bytes it has", to->arena->used_bytes);
}

static Status clone_node(Graph *to, Node *n) {
  Value **in = ARENA_ARRAY(to->arena, Value *, n->in_count);
  const char **names = ARENA_ARRAY(to->arena, const char *, n->out_count);
  if (!in || !names) return out_of_memory(to);
  for (int i = 0; i < n->in_count; i++) in[i] = copy_of(to, n->in[i]);
  for (int i = 0; i < n->out_count; i++) names[i] = n->out[i] && !n->out[i]->pin ? n->out[i]->name : "";
  to->module = n->module;
  int first = to->node_count;
  if (n->deferred.pending)
    TRY(graph_add(
        to, &(Added){n->op, n->name, in, n->in_count, names, n->out_count, n->attrs, n->attr_count, n->deferred.done}));
  else if (!graph_node(to, n->op, n->name, in, n->in_count, names, n->out_count, n->attrs, n->attr_count))
    return to->error->status;
  if (to->node_count == first + 1) to->nodes[first]->stream = n->stream;
  for (int i = 0; i < n->out_count; i++)
    if (*names[i]) n->out[i]->copy = graph_find(to, names[i]);
  return STATUS_OK;
}

Graph *graph_clone(Graph *g, Arena *arena, Error *error, const Dim *numbers, Value *const *outputs, int output_count) {
  Graph *to = graph_new_like(g, arena, error);
  bool *wanted = to ? ARENA_ARRAY(arena, bool, g->value_count) : NULL;
  if (!wanted) return to ? out_of_memory(to), NULL : NULL;
  for (int i = 0; i < g->value_count; i++) g->values[i]->copy = NULL;
  for (int i = 0; i < output_count; i++) want(wanted, outputs[i]);
  for (int i = g->node_count - 1; i >= 0; i--)
    if (node_wanted(wanted, g->nodes[i])) want_inputs(wanted, g->nodes[i]);
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    if ((v->kind != VALUE_NODE || v->pin) && v->kind != VALUE_SEQUENCE && wanted[i] &&
        !(v->copy = clone_value(to, v, numbers)))
      return NULL;
  }
  for (int i = 0; i < g->input_count; i++)
    if (g->inputs[i]->copy && !g->inputs[i]->pin && graph_add_input(to, g->inputs[i]->copy) != STATUS_OK) return NULL;
  for (int i = 0; i < g->node_count; i++)
    if (node_wanted(wanted, g->nodes[i]) && clone_node(to, g->nodes[i]) != STATUS_OK) return NULL;
  to->module = NULL;
  for (int i = 0; i < output_count; i++)
    if (graph_add_output(to, copy_of(to, outputs[i])) != STATUS_OK) return NULL;
  to->origin = NULL;
  return to;
}
