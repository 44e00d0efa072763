/* Stages: computes the contents that shapes depend on, one round of them after the other, and pins them as constants. */
#include "run/stages.h"

#include <string.h>

#include "run/plan.h"

/* The values of the graph that nodes of its clone wait for; each once. */
static int awaited_of(const Graph *g, const Graph *clone, Value **out) {
  int count = 0;
  for (int i = 0; i < clone->node_count; i++) {
    if (!clone->nodes[i]->awaits) continue;
    Value *v = graph_find(g, clone->nodes[i]->awaits->name);
    int k = 0;
    while (k < count && out[k] != v) k++;
    if (v && !v->pin && k == count) out[count++] = v;
  }
  return count;
}

/* A constant with the contents of v. */
static const Value *pin_of(const Value *v, Arena *arena) {
  size_t bytes = shape_elements(&v->shape) * dtype_bytes(v->type);
  Value *pin = ARENA_NEW(arena, Value);
  if (!pin || !(pin->data = arena_alloc(arena, bytes))) return NULL;
  if (bytes) memcpy(pin->data, v->data, bytes);
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

/* Computes the awaited values and pins them, in memory of `arena`. */
static Status pin_awaited(const Stages *s, Value **awaited, int count, Arena *arena, Error *error) {
  Arena scratch = {0};
  Block memory = {0};
  Graph *stage = graph_clone(s->graph, &scratch, error, s->numbers, awaited, count);
  Status status = stage ? run_stage(s, stage, &memory, error) : error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory while planning");
  for (int i = 0; i < count && status == STATUS_OK; i++)
    if (!(awaited[i]->pin = pin_of(stage->outputs[i], arena)))
      status = error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for values that shapes depend on");
  block_free(&memory);
  arena_free(&scratch);
  return status;
}

/* A node that has shapes and still no symbol for them settled waits for nothing: the caller reports it. */
static Graph *clone_until_closed(const Stages *s, Arena *arena, Error *error, Value *const *wanted, int wanted_count) {
  Value **awaited = ARENA_ARRAY(arena, Value *, s->graph->value_count);
  if (!awaited) return NULL;
  for (;;) {
    Graph *clone = graph_clone(s->graph, arena, error, s->numbers, wanted, wanted_count);
    if (!clone || !clone->open) return clone;
    int count = awaited_of(s->graph, clone, awaited);
    if (count == 0) return error_set(error, STATUS_UNSUPPORTED_OP, NULL, "shapes of the model depend on values inside of one operator"), NULL;
    if (pin_awaited(s, awaited, count, arena, error) != STATUS_OK) return NULL;
  }
}

Graph *stages_clone(const Stages *s, Arena *arena, Error *error, Value *const *wanted, int wanted_count) {
  Graph *clone = clone_until_closed(s, arena, error, wanted, wanted_count);
  for (int i = 0; i < s->graph->value_count; i++) s->graph->values[i]->pin = NULL;
  return clone;
}
