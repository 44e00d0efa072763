/* Stages: computes the contents that shapes depend on, one round after another, and pins them as constants.
 */
#include "program/dynamic_shapes.h"

#include <string.h>

#include "graph/op.h"
#include "graph/sequence.h"
#include "graph/subgraph.h"
#include "graph/strings.h"
#include "program/plan.h"

typedef struct Needed {
  Value **values;
  int count;
  bool *is; /* indexed by value */
} Needed;

/* Records once that v must be known, unless it is a constant. */
static void need(Needed *a, Value *v) {
  if (!v || v->kind == VALUE_CONSTANT || v->kind == VALUE_SEQUENCE || v->type == DTYPE_NONE || a->is[v->index]) return;
  a->is[v->index] = true;
  a->values[a->count++] = v;
}

/* A Loop that is run alone and has all inputs, even if their contents are still to be computed. */
static bool is_ready(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && n->in[i]->type == DTYPE_NONE) return false;
  return n->deferred.done > 0;
}

/* The values that deferred nodes of the graph need, each once. False if memory is out. */
static bool needed_of(const Graph *g, Arena *arena, Needed *a) {
  *a = (Needed){.values = ARENA_ARRAY(arena, Value *, g->value_count), .is = ARENA_ARRAY(arena, bool, g->value_count)};
  if (!a->values || !a->is) return false;
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    if (n->deferred.input) need(a, n->deferred.input);
    for (int k = 0; k < n->in_count && is_ready(n); k++) {
      need(a, n->in[k]);
      for (int item = 0; value_is_sequence(n->in[k]) && item < n->in[k]->item_count; item++)
        need(a, n->in[k]->items[item]);
    }
  }
  return true;
}

/* Strings that were made for a stage are freed with it. */
static bool keep_strings(const char **strings, size_t count, Arena *arena) {
  const char *copied = NULL, *copy = NULL; /* neighbours often are one string */
  for (size_t i = 0; i < count; i++) {
    if (!copy || strings[i] != copied) copy = arena_copy_text(arena, strings_text(copied = strings[i]));
    if (!(strings[i] = copy)) return false;
  }
  return true;
}

/* A constant with the contents of v, or a sequence of these; NULL when memory is out. */
static Value *pin_of(const Value *v, Arena *arena) {
  bool sequence = value_is_sequence(v);
  size_t bytes = sequence ? 0 : value_bytes(v);
  Value *pin = ARENA_NEW(arena, Value);
  if (!pin || !(pin->data = arena_alloc(arena, bytes)) || !(pin->items = ARENA_ARRAY(arena, Value *, v->item_count)))
    return NULL;
  if (bytes) memcpy(pin->data, v->data, bytes);
  if (bytes && v->type == DTYPE_STRING && !keep_strings(pin->data, bytes / sizeof(char *), arena)) return NULL;
  pin->name = v->name;
  pin->kind = sequence ? VALUE_SEQUENCE : VALUE_CONSTANT;
  pin->type = v->type;
  pin->shape = v->shape;
  pin->item_count = v->item_count;
  pin->absent = v->absent;
  for (int i = 0; i < v->item_count; i++)
    if (!(pin->items[i] = pin_of(v->items[i], arena))) return NULL;
  return pin;
}

Value **dynamic_shapes_spread(Graph *g) {
  Value **asked = g->outputs;
  int count = g->output_count;
  g->outputs = NULL;
  g->output_count = g->output_capacity = 0;
  for (int i = 0; i < count; i++) {
    bool sequence = value_is_sequence(asked[i]);
    for (int k = 0; k < (sequence ? asked[i]->item_count : 1); k++)
      if (graph_add_output(g, sequence ? asked[i]->items[k] : asked[i]) != STATUS_OK) return NULL;
  }
  return asked;
}

/* The run itself moves running statistics. */
static void leave_updates(Graph *stage) {
  for (int i = 0; i < stage->node_count; i++)
    for (int k = 0; k < stage->nodes[i]->out_count && k < UPDATES_MAX; k++)
      if (stage->nodes[i]->op->updates[k] > 0) stage->nodes[i]->out[k] = NULL;
}

static Status run_stage(DynamicShapes *s, Graph *stage, Block *memory, Error *error) {
  Program program;
  leave_updates(stage);
  TRY(plan(stage, false, &program));
  if (!block_reserve(memory, program.arena_bytes))
    return error_set(error, STATUS_OUT_OF_MEMORY, NULL, "the shapes of this model are computed, which needs %zu bytes",
                     program.arena_bytes);
  TRY(plan_check_work(&program, s->work_limit, &s->work));
  s->attach(s->context, stage);
  plan_resolve(&program, memory->data);
  return plan_execute(&program, plan_all(&program), s->stop);
}

static Status out_of_memory(Error *error) { return error_memory(error, "for values that shapes depend on"); }

/* Computes those values of a graph that are not NULL and pins them, in memory of `arena`. */
static Status pin_values(DynamicShapes *s, Graph *g, Value *const *values, int most, Arena *arena, Error *error) {
  Arena scratch = {0};
  Block memory = {0};
  DynamicShapes of = *s;
  int count = 0;
  Value **wanted = ARENA_ARRAY(&scratch, Value *, most);
  for (int i = 0; i < most && wanted; i++)
    if (values[i]) wanted[count++] = values[i];
  Graph *stage = wanted ? graph_clone(g, &scratch, error, NULL, wanted, count) : NULL;
  stage = dynamic_shapes_clone(&of, stage, &scratch, error);
  Value **asked = stage ? dynamic_shapes_spread(stage) : NULL;
  s->inlined = of.inlined;
  s->work = of.work;
  Status status = asked ? run_stage(s, stage, &memory, error) : out_of_memory(error);
  if (asked) g->work_expanded = stage->work_expanded;
  for (int i = 0; i < count && status == STATUS_OK; i++)
    if (!(wanted[i]->pin = pin_of(asked[i], arena))) status = out_of_memory(error);
  block_free(&memory);
  arena_free(&scratch);
  return status;
}

/* ---- Loops that are run alone, a few iterations at a time ---- */

/* The constant that v is, or as which it is pinned; for a sequence, a sequence of these. */
static Value *add_constant(Graph *g, const Value *v) {
  if (v->pin) v = v->pin;
  if (v->kind != VALUE_SEQUENCE) return graph_constant(g, NULL, v->type, &v->shape, v->data);
  Value **items = ARENA_ARRAY(g->arena, Value *, v->item_count),
        *copy = graph_value(g, NULL, v->type, NULL, VALUE_SEQUENCE);
  if (!items || !copy) return NULL;
  for (int i = 0; i < v->item_count; i++)
    if (!(items[i] = add_constant(g, v->items[i]))) return NULL;
  copy->items = items;
  copy->item_count = v->item_count;
  copy->absent = v->absent;
  return copy;
}

/* A graph of only this node, whose inputs are constants, with the few iterations that it does at a time. */
static Graph *few_iterations(Node *n, int first_stream, Arena *arena, Error *error) {
  Graph *g = graph_new_like(n->graph, arena, error);
  Value **in = ARENA_ARRAY(arena, Value *, n->in_count);
  const char **names = ARENA_ARRAY(arena, const char *, n->out_count);
  if (!g || !in || !names) return NULL;
  g->deferral.resumes = true;
  g->inlined = 0;
  g->first_stream = first_stream;
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && !(in[i] = add_constant(g, n->in[i]))) return NULL;
  for (int i = 0; i < n->out_count; i++)
    if (!(names[i] = n->out[i] ? arena_print(arena, "out%d", i) : "")) return NULL;
  if (graph_add(g, &(Added){n->op, n->name, in, n->in_count, names, n->out_count, n->attrs, n->attr_count,
                            n->deferred.done}) != STATUS_OK)
    return NULL;
  for (int i = 0; i < n->out_count; i++)
    if (*names[i] && graph_add_output(g, graph_find(g, names[i])) != STATUS_OK) return NULL;
  return g;
}

/* The node that does the rest after these iterations; NULL if nothing is left. */
static Node *rest_of(const Graph *g, const Node *n) {
  Node *last = g->output_count ? g->outputs[0]->producer : NULL;
  return last && last->deferred.done > n->deferred.done ? last : NULL;
}

static Status pin_outputs(DynamicShapes *s, Graph *g, Node *n, Arena *arena, Error *error) {
  TRY(pin_values(s, g, g->outputs, g->output_count, arena, error));
  for (int i = 0, k = 0; i < n->out_count; i++)
    if (n->out[i]) n->out[i]->pin = g->outputs[k++]->pin;
  return STATUS_OK;
}

/* Runs some iterations of `from`: if they are the last, pins the outputs of `n`, else returns what is left to do, with
 * its inputs pinned, except captured ones, which stay as they are. */
static Status run_part(DynamicShapes *s, Node *n, Node **from, int *first_stream, Arena *part, Arena *arena,
                       Error *error) {
  Graph *g = few_iterations(*from, *first_stream, part, error);
  if (!g) return out_of_memory(error);
  s->inlined += g->inlined;
  if (s->inlined > SUBGRAPH_RUN_MAX)
    return node_fail(*from, STATUS_UNSUPPORTED_OP, "it has not ended after %lld iterations, the most we do",
                     (long long)(*from)->deferred.done);
  *first_stream += g->node_count;
  *from = rest_of(g, *from);
  return *from ? pin_values(s, g, (*from)->in, subgraph_own_inputs(*from), part, error)
               : pin_outputs(s, g, n, arena, error);
}

/* Each part reads what the previous one has left in its arena. */
static Status run_loop(DynamicShapes *s, Node *n, Arena *arena, Error *error) {
  Arena parts[2] = {{0}};
  Status status = STATUS_OK;
  int first_stream = n->stream;
  Node *from = n;
  for (int k = 0; status == STATUS_OK && from; k ^= 1) {
    arena_free(&parts[k]);
    status = run_part(s, n, &from, &first_stream, &parts[k], arena, error);
  }
  arena_free(&parts[0]);
  arena_free(&parts[1]);
  return status;
}

/* Runs those whose inputs are there, and returns their number, or -1. */
static int run_loops(DynamicShapes *s, Graph *g, Arena *arena, Error *error) {
  int count = 0;
  for (int i = 0; i < g->node_count; i++) {
    if (!is_ready(g->nodes[i])) continue;
    if (run_loop(s, g->nodes[i], arena, error) != STATUS_OK) return -1;
    count++;
  }
  return count;
}

/* Each clone is made from the previous one, so that the nodes which replaced a subgraph stay. A node that has shapes
 * but waits for nothing that can be computed is reported by the caller. */
Graph *dynamic_shapes_clone(DynamicShapes *s, Graph *clone, Arena *arena, Error *error) {
  while (clone && clone->deferral.pending) {
    Needed needed;
    if (!needed_of(clone, arena, &needed)) return NULL;
    s->computed = true;
    if (needed.count && pin_values(s, clone, needed.values, needed.count, arena, error) != STATUS_OK) return NULL;
    int loops = run_loops(s, clone, arena, error);
    if (loops < 0) return NULL;
    if (needed.count + loops == 0)
      return error_set(error, STATUS_UNSUPPORTED_OP, NULL,
                       "shapes of the model depend on values inside of one operator"),
             NULL;
    clone = graph_clone(clone, arena, error, NULL, clone->outputs, clone->output_count);
  }
  return clone;
}
