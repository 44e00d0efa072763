/* Constants: pinned for one clone of the model. */
#include "graph/constants.h"

#include <string.h>

#include "graph/op.h"

void *constants_add(Constants *c, const char *name, int type, int rank, const int64_t *dims, Arena *arena,
                    Error *error) {
  Shape shape = {.rank = rank};
  size_t count, bytes;
  bool fits = rank >= 0 && rank <= RANK_MAX && dtype_bytes((DType)type) && type != DTYPE_STRING;
  for (int i = 0; fits && i < rank; i++) fits = (shape.dim[i] = dims[i]) >= 0;
  if (!fits || !shape_count(&shape, &count) || !size_multiply(count, dtype_bytes((DType)type), &bytes))
    return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "constants: '%.200s' has no such type or shape", name), NULL;
  BoundInput *b = ARENA_NEW(arena, BoundInput);
  const char *copy = arena_copy_text(arena, name);
  void *data = arena_alloc(arena, bytes);
  if (!b || !copy || !data) return error_memory(error, "for the constants"), NULL;
  b->value = (Value){.name = copy, .type = (DType)type, .shape = shape, .kind = VALUE_CONSTANT, .data = data};
  b->next = c->first;
  c->first = b;
  return data;
}

/* A scalar also stands for an input of one element; symbols of the input's shape become numbers. */
static Status fit(const Value *input, Value *constant, Dim *numbers, Error *error) {
  size_t count;
  char wanted[SHAPE_TEXT], came[SHAPE_TEXT];
  if (constant->shape.rank == 0 && shape_count(&input->shape, &count) && count == 1) constant->shape = input->shape;
  bool fits = constant->type == input->type && constant->shape.rank == input->shape.rank && !input->declared;
  for (int i = 0; fits && i < constant->shape.rank; i++) {
    Dim dim = input->shape.dim[i], came_dim = constant->shape.dim[i];
    Dim *number = dim_is_symbol(dim) ? &numbers[dim_symbol(dim)] : &dim;
    if (*number < 0) *number = came_dim;
    fits = *number == came_dim;
  }
  if (fits) return STATUS_OK;
  return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "constants: input '%.100s' is %s %s, not %s %s", input->name,
                   dtype_name(input->type), shape_print(&input->shape, wanted), dtype_name(constant->type),
                   shape_print(&constant->shape, came));
}

static int pin(Constants *c, Graph *g, Dim *numbers, Error *error) {
  int count = 0;
  for (BoundInput *b = c->first; b; b = b->next) {
    Value *input = graph_find(g, b->value.name);
    if (!input || input->kind != VALUE_INPUT) continue;
    Value *constant = ARENA_NEW(g->arena, Value);
    if (!constant) return -1;
    *constant = b->value;
    if (fit(input, constant, numbers, error) != STATUS_OK) return -1;
    input->pin = constant;
    b->used = true;
    count++;
  }
  return count;
}

/* Every other input stays, read or not, and what the file says of it and of outputs that still wait. */
static Graph *clone(Graph *g, Arena *arena, Error *error, const Dim *numbers) {
  Value **wanted = ARENA_ARRAY(arena, Value *, g->output_count + g->input_count);
  int count = 0;
  if (!wanted) return NULL;
  for (int i = 0; i < g->output_count; i++) wanted[count++] = g->outputs[i];
  for (int i = 0; i < g->input_count; i++)
    if (!g->inputs[i]->pin) wanted[count++] = g->inputs[i];
  Graph *bound = graph_clone(g, arena, error, numbers, wanted, count);
  if (!bound) return NULL;
  bound->output_count = g->output_count;
  for (int i = 0; i < count; i++) {
    Value *to = wanted[i]->copy;
    if (to && (to->kind == VALUE_INPUT || (to->producer && to->producer->deferred.pending)))
      to->declared = wanted[i]->declared;
  }
  return bound;
}

Graph *constants_bind(Constants *c, Graph *g, Arena *arena, Error *error) {
  if (!c->first) return g;
  Dim *numbers = ARENA_ARRAY(arena, Dim, g->symbol_count);
  for (int i = 0; numbers && i < g->symbol_count; i++) numbers[i] = -1;
  int count = numbers ? pin(c, g, numbers, error) : -1;
  Graph *bound = count > 0 ? clone(g, arena, error, numbers) : count == 0 ? g : NULL;
  for (int i = 0; i < g->input_count; i++) g->inputs[i]->pin = NULL;
  if (!bound) error_memory(error, "for the constants"); /* the first wins */
  return bound;
}

Graph *constants_complete(Graph *g, Arena *arena, Error *error) {
  g->deferral.allowed = false;
  if (g->deferral.pending && !(g = clone(g, arena, error, NULL))) return NULL; /* refused by the first deferred node */
  bool all_there = true;
  for (int i = 0; i < g->value_count; i++) {
    const Value *v = g->values[i];
    all_there &= v->kind != VALUE_SEQUENCE && v->type != DTYPE_STRING && !(v->kind == VALUE_INPUT && v->declared);
  }
  return all_there ? g : NULL;
}

Status constants_check_used(const Constants *c, Error *error) {
  for (const BoundInput *b = c->first; b; b = b->next)
    if (!b->used)
      return error_set(error, STATUS_INVALID_ARGUMENT, NULL, "constants: there is no input '%.200s'", b->value.name);
  return STATUS_OK;
}
