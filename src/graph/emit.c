/* Emit: shorthands for the nodes that gradients and losses add; errors are sticky, so a chain needs only one check, at
 * its end. */
#include <string.h>

#include "graph/op.h"
#include "part.h"

Value emit_absent;
enum { EMIT_INPUTS = 16 }; /* for an operator that is expanded within another */

static void out_of_memory(Graph *g) { error_memory(g->error, "for the graph"); }

Node *emit_node(Graph *g, const char *op_name, AttrList attrs, Value *const *in, int in_count, int out_count,
                const bool *want) {
  const Op *op = op_find(op_name);
  if (!op) {
    if (is_shrunk()) part_missing_operators(g->error, NULL, op_name);
    else error_set(g->error, STATUS_INTERNAL, NULL, "the engine emits operator '%s', which it lacks", op_name);
    return NULL;
  }
  Value **inputs = ARENA_ARRAY(g->arena, Value *, in_count);
  const char **names = ARENA_ARRAY(g->arena, const char *, out_count);
  Attr *kept = ARENA_ARRAY(g->arena, Attr, attrs.count);
  if (!inputs || !names || !kept) return out_of_memory(g), NULL;
  for (int i = 0; i < in_count; i++) {
    if (!in[i]) return NULL;
    inputs[i] = in[i] == EMIT_ABSENT ? NULL : in[i];
  }
  for (int i = 0; i < attrs.count; i++) { /* lists may be on the caller's stack */
    kept[i] = attrs.items[i];
    if (attrs.items[i].kind != ATTR_INTS) continue;
    int64_t *ints = ARENA_ARRAY(g->arena, int64_t, attrs.items[i].count);
    if (!ints) return out_of_memory(g), NULL;
    if (attrs.items[i].count) memcpy(ints, attrs.items[i].ints, (size_t)attrs.items[i].count * sizeof *ints);
    kept[i].ints = ints;
  }
  for (int i = 0; i < out_count; i++) names[i] = want && !want[i] ? "" : NULL;
  return graph_node(g, op, NULL, inputs, in_count, names, out_count, kept, attrs.count);
}

/* Within another expansion; its attributes live as long as the call. */
static Value *emit_expanded(Graph *g, const Op *op, AttrList attrs, Value *const *in, int in_count) {
  Value *inputs[EMIT_INPUTS], *out = NULL;
  const char *name = NULL;
  for (int i = 0; i < in_count; i++) {
    if (!in[i]) return NULL;
    inputs[i] = in[i] == EMIT_ABSENT ? NULL : in[i];
  }
  Added added = {op, op->name, inputs, in_count, &name, 1, attrs.items, attrs.count};
  return graph_expand(g, &added, &out) == STATUS_OK ? out : NULL;
}

Value *emit_listed(Graph *g, const char *op_name, const Attr *items, int attr_count, Value *const *in, int in_count) {
  const Op *op = op_find(op_name);
  AttrList attrs = {items, attr_count};
  Added added = {.op = op, .in = in, .in_count = in_count, .attrs = items, .attr_count = attr_count};
  if (op && graph_is_expanded(&added)) return emit_expanded(g, op, attrs, in, in_count);
  Node *n = emit_node(g, op_name, attrs, in, in_count, 1, NULL);
  return n ? n->out[0] : NULL;
}

Value *emit_unary(Graph *g, const char *op_name, Value *x) { return emit_first(g, op_name, NO_ATTRS, &x, 1); }

Value *emit_binary(Graph *g, const char *op_name, Value *a, Value *b) {
  return emit_first(g, op_name, NO_ATTRS, (Value *[]){a, b}, 2);
}

Value *emit_ternary(Graph *g, const char *op_name, Value *a, Value *b, Value *c) {
  return emit_first(g, op_name, NO_ATTRS, (Value *[]){a, b, c}, 3);
}

static Value *emit_constant(Graph *g, DType type, const Shape *shape, const void *data, size_t bytes) {
  void *copy = arena_alloc(g->arena, bytes);
  if (!copy) return out_of_memory(g), NULL;
  if (bytes) memcpy(copy, data, bytes);
  const char *name = graph_fresh_name(g, "const");
  return name ? graph_constant(g, name, type, shape, copy) : NULL;
}

Value *emit_float(Graph *g, float x) { return emit_constant(g, DTYPE_FLOAT32, &(Shape){0}, &x, sizeof x); }

Value *emit_truth(Graph *g, bool truth) { return emit_constant(g, DTYPE_BOOL, &(Shape){0}, &(uint8_t){truth}, 1); }

Value *emit_int(Graph *g, int64_t x) { return emit_constant(g, DTYPE_INT64, &(Shape){0}, &x, sizeof x); }

Value *emit_floats(Graph *g, const float *floats, const Shape *shape) {
  return emit_constant(g, DTYPE_FLOAT32, shape, floats, shape_elements(shape) * sizeof *floats);
}

Value *emit_ints(Graph *g, const int64_t *ints, int count) {
  Shape shape = SHAPE(count);
  return emit_constant(g, DTYPE_INT64, &shape, ints, (size_t)count * sizeof *ints);
}

Value *emit_shape(Graph *g, Value *like) { return emit(g, "Shape", like); }
