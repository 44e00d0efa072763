/* Subgraphs: their nodes are added to the graph around them, under names that begin with the node's. */
#include "graph/subgraph.h"

#include <string.h>

#include "graph/op.h"
#include "graph/work.h"

static const Attr *find_attr(const Node *n, const char *name, int *captured_before) {
  *captured_before = 0;
  for (int i = 0; i < n->attr_count; i++) {
    if (n->attrs[i].kind != ATTR_GRAPH) continue;
    if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    *captured_before += n->attrs[i].subgraph->capture_count;
  }
  return NULL;
}

int subgraph_own_inputs(const Node *n) {
  int captured;
  find_attr(n, "", &captured);
  return n->in_count - captured;
}

static Status fill_constants(Graph *g, const Subgraph *s, Value **slots) {
  for (int i = 0; i < s->constant_count; i++) {
    const Value *c = &s->constants[i];
    const char *name = graph_fresh_name(g, arena_print(g->arena, "const_%.100s", c->name));
    if (!name || !(slots[s->constant_slots[i]] = graph_constant(g, name, c->type, &c->shape, c->data)))
      return STATUS_OUT_OF_MEMORY;
  }
  return STATUS_OK;
}

enum {
  WORK_OF_PART = 1 << 10
}; /* multiply-adds that take as long as adding one more node, input, output or attribute */

/* A hostile file may nest subgraphs within subgraphs, each repeated many times. */
static Status count_size(const Node *n, int size) {
  n->graph->inlined += size;
  TRY(work_expand(n, WORK_OF_PART * size));
  if (n->graph->inlined <= SUBGRAPH_MOST) return STATUS_OK;
  return node_fail(
      n, STATUS_UNSUPPORTED_OP,
      "with the nodes of its subgraphs once an iteration the model is too large: at most about %d nodes are added",
      SUBGRAPH_MOST / 5);
}

bool subgraph_is_long(const Graph *g) { return g->inlined > (g->deferral.resumes ? SUBGRAPH_PART : SUBGRAPH_LONG); }

const Subgraph *subgraph_open(const Node *n, const char *name, Value ***slots) {
  int captured;
  const Attr *a = find_attr(n, name, &captured);
  if (!a) return node_invalid(n, "it lacks the subgraph '%s'", name), NULL;
  const Subgraph *s = a->subgraph;
  if (count_size(n, s->slot_count) != STATUS_OK) return NULL;
  if (!(*slots = ARENA_ARRAY(n->graph->arena, Value *, s->slot_count)) ||
      fill_constants(n->graph, s, *slots) != STATUS_OK)
    return node_fail(n, STATUS_OUT_OF_MEMORY, "out of memory for its subgraph"), NULL;
  Value *const *from = n->in + subgraph_own_inputs(n) + captured;
  for (int i = 0; i < s->capture_count; i++) (*slots)[s->captures[i]] = from[i];
  return s;
}

const char *subgraph_name(const Node *n, const char *stem) {
  const char *name = arena_print(n->graph->arena, "%.100s/%.100s_%d", n->name, stem, ++n->graph->made);
  return name ? graph_fresh_name(n->graph, name) : NULL;
}

static Status inline_node(const Node *n, const Subgraph *s, const SubgraphNode *from, Value **slots) {
  Graph *g = n->graph;
  Value **in = ARENA_ARRAY(g->arena, Value *, from->in_count);
  const char **names = ARENA_ARRAY(g->arena, const char *, from->out_count), *title = subgraph_name(n, from->name);
  if (!in || !names || !title) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < from->in_count; i++) in[i] = from->in[i] < 0 ? NULL : slots[from->in[i]];
  for (int i = 0; i < from->out_count; i++) {
    if (!(names[i] = from->out[i] < 0 ? "" : subgraph_name(n, s->names[from->out[i]]))) return STATUS_OUT_OF_MEMORY;
  }
  TRY(graph_add(g,
                &(Added){from->op, title, in, from->in_count, names, from->out_count, from->attrs, from->attr_count}));
  for (int i = 0; i < from->out_count; i++)
    if (*names[i]) slots[from->out[i]] = graph_find(g, names[i]);
  return STATUS_OK;
}

Status subgraph_inline(const Node *n, const Subgraph *s, Value **slots) {
  Graph *g = n->graph;
  TRY(count_size(n, s->size));
  for (int i = 0; i < s->node_count; i++) TRY(inline_node(n, s, &s->nodes[i], slots));
  g->deferral.needed = NULL; /* nodes within it are deferred alone */
  return STATUS_OK;
}

/* ---- lists of values, one an iteration ---- */

static Value *emit_unsqueeze(Graph *g, Value *x, int64_t axis) {
  return emit(g, "Unsqueeze", x, emit_ints(g, &axis, 1));
}

Value *subgraph_stack(Graph *g, Value *joined, Value *const *items, int count, int64_t axis) {
  if (count == 0) return joined;
  Value **parts = ARENA_ARRAY(g->arena, Value *, count + 1);
  if (!parts) return error_memory(g->error, "for a subgraph"), NULL;
  int n = 0;
  if (joined) parts[n++] = joined;
  for (int i = 0; i < count; i++) parts[n++] = emit_unsqueeze(g, items[i], axis);
  return emit_first(g, "Concat", ATTRS(attr_of_int("axis", axis)), parts, n);
}

Value *subgraph_nothing(Graph *g, const Value *declared, int64_t axis) {
  static const uint64_t none[1];
  Shape shape = {.rank = declared->shape.rank + 1};
  if (shape.rank > RANK_MAX || declared->type == DTYPE_NONE || axis > declared->shape.rank)
    return error_set(g->error, STATUS_UNSUPPORTED_OP, NULL,
                     "a subgraph runs no time, and its output '%.100s' does not say of which type it is",
                     declared->name),
           NULL;
  for (int i = 0, k = 0; i < shape.rank; i++) shape.dim[i] = i == axis ? 0 : declared->shape.dim[k++];
  const char *name = graph_fresh_name(g, "const");
  return name ? graph_constant(g, name, declared->type, &shape, none) : NULL;
}
