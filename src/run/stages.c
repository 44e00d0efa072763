/* Stages: computes the contents that shapes depend on, one round of them after the other, and pins them as constants. */
#include "run/stages.h"

#include <string.h>

#include "ops/op.h"
#include "run/plan.h"

/* Notes that v must be known, once; a constant is. */
static void await(Value *v, Value **out, int *count) {
  int k = 0;
  while (k < *count && out[k] != v) k++;
  if (k == *count && v && v->kind != VALUE_CONSTANT && v->kind != VALUE_SEQUENCE && v->type != DTYPE_NONE) out[(*count)++] = v;
}

/* The values that nodes of the graph wait for; each once. Of a node with subgraphs all inputs: then no earlier iteration is computed again. */
static int awaited_of(const Graph *g, Value **out) {
  int count = 0;
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    if (!n->awaits) continue;
    await(n->awaits, out, &count);
    for (int k = 0; k < n->in_count && n->op->flags & OP_SUBGRAPHS; k++) await(n->in[k], out, &count);
  }
  return count;
}

/* A constant with the contents of v. */
static const Value *pin_of(const Value *v, Arena *arena) {
  size_t bytes = shape_elements(&v->shape) * dtype_bytes(v->type);
  Value *pin = ARENA_NEW(arena, Value);
  if (!pin || !(pin->data = arena_alloc(arena, bytes))) return NULL;
  if (bytes) memcpy(pin->data, v->data, bytes);
  pin->kind = VALUE_CONSTANT;
  pin->type = v->type;
  pin->shape = v->shape;
  return pin;
}

static Status run_stage(const Stages *s, Graph *stage, Block *memory, Error *error) {
  Program program;
  TRY(plan(stage, false, &program));
  if ((s->memory_limit > 0 && (double)program.arena_bytes > s->memory_limit) || !block_reserve(memory, program.arena_bytes))
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "the shapes of this model are computed, which needs %zu bytes", program.arena_bytes);
  s->attach(s->context, stage);
  plan_resolve(&program, memory->data);
  plan_execute(&program);
  return STATUS_OK;
}

/* Computes the awaited values of a graph and pins them, in memory of `arena`. */
static Status pin_awaited(const Stages *s, Graph *open, Value **awaited, int count, Arena *arena, Error *error) {
  Arena scratch = {0};
  Block memory = {0};
  Graph *stage = graph_clone(open, &scratch, error, NULL, awaited, count);
  Status status = stage ? run_stage(s, stage, &memory, error) : error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory while planning");
  for (int i = 0; i < count && status == STATUS_OK; i++)
    if (!(awaited[i]->pin = pin_of(stage->outputs[i], arena)))
      status = error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for values that shapes depend on");
  block_free(&memory);
  arena_free(&scratch);
  return status;
}

/* Each clone is made of the one before it, so that what a subgraph became stays. A node that has shapes and still no symbol for them
 * settled waits for nothing: the caller reports it. */
Graph *stages_clone(Stages *s, Arena *arena, Error *error, Value *const *wanted, int wanted_count) {
  Graph *clone = graph_clone(s->graph, arena, error, s->numbers, wanted, wanted_count);
  while (clone && clone->open) {
    Value **awaited = ARENA_ARRAY(arena, Value *, clone->value_count);
    if (!awaited) return NULL;
    int count = awaited_of(clone, awaited);
    if (count == 0) return error_set(error, STATUS_UNSUPPORTED_OP, NULL, "shapes of the model depend on values inside of one operator"), NULL;
    s->computed = true;
    if (pin_awaited(s, clone, awaited, count, arena, error) != STATUS_OK) return NULL;
    clone = graph_clone(clone, arena, error, NULL, clone->outputs, wanted_count);
  }
  return clone;
}
