/* Graph: values, which are found by name; nodes, which infer as they are added; symbols. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "graph/add.h"
#include "graph/op.h"
#include "graph/upgrade.h"

Graph *graph_new(Arena *arena, Error *error) {
  Graph *g = ARENA_NEW(arena, Graph);
  if (!g) {
    error_memory(error, "for a graph");
    return NULL;
  }
  g->arena = g->frame = arena;
  g->error = error;
  return g;
}

Status graph_out_of_memory(Graph *g) {
  return error_set(g->error, STATUS_OUT_OF_MEMORY, NULL,
                   "out of memory: the graph needs more than the %zu bytes it has", g->arena->used_bytes);
}

/* Makes room for one more item in the list of g whose pointer is at `list`; the list stays as it is when memory is
 * out. */
static bool room(Graph *g, void *list, int count, int *capacity, size_t item_bytes) {
  void *items;
  memcpy(&items, list, sizeof items);
  items = arena_list_grow(g->frame, items, count, capacity, item_bytes);
  if (items) memcpy(list, &items, sizeof items);
  return items;
}
#define PUSH(g, items, count, capacity, item)                                                                          \
  (room(g, &(g)->items, (g)->count, &(g)->capacity, sizeof *(g)->items) && ((g)->items[(g)->count++] = (item), true))

int graph_opset(const Graph *g, const char *domain) {
  for (int i = 0; i < g->opset_count; i++)
    if (strcmp(g->opsets[i].domain, domain) == 0) return g->opsets[i].version;
  return 0;
}

Status graph_import(Graph *g, const char *domain, int version) {
  if (graph_opset(g, domain)) return STATUS_OK;
  if (!*domain) g->file_opset = version;
  Opset opset = {domain, !*domain && version < OPSET_MIN ? OPSET_MIN : version};
  return PUSH(g, opsets, opset_count, opset_capacity, opset) ? STATUS_OK : graph_out_of_memory(g);
}

/* ---- names ---- */

static uint32_t name_hash(const char *s) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
  return h;
}

static const char *name_at(const Graph *g, const NameTable *t, int i) {
  return t == &g->symbol_names ? g->symbols[i] : t == &g->reserved_names ? g->reserved[i] : g->values[i]->name;
}

/* The slot that holds `name`, or the empty one where it belongs. */
static int *slot_of(const Graph *g, const NameTable *t, const char *name) {
  uint32_t mask = (uint32_t)t->slot_count - 1, at = name_hash(name) & mask;
  while (t->slots[at] && strcmp(name_at(g, t, t->slots[at] - 1), name) != 0) at = (at + 1) & mask;
  return &t->slots[at];
}

static int find_name(const Graph *g, const NameTable *t, const char *name) {
  return t->slot_count ? *slot_of(g, t, name) - 1 : -1;
}

Value *graph_find(const Graph *g, const char *name) {
  int i = find_name(g, &g->value_names, name);
  return i < 0 ? NULL : g->values[i];
}

/* Adds the names up to `count`; a symbol without a name cannot be found by name. */
static void names_fill(Graph *g, NameTable *t, int count) {
  for (int i = t->count; i < count; i++) {
    const char *name = name_at(g, t, i);
    if (*name || t != &g->symbol_names) *slot_of(g, t, name) = i + 1;
  }
  t->count = count;
}

/* Makes room for one more than `count` names; these are in the table afterwards. */
static bool names_grow(Graph *g, NameTable *t, int count) {
  int slots = t->slot_count ? t->slot_count : 64;
  while (count * 2 >= slots) slots *= 2;
  if (slots != t->slot_count) {
    NameTable grown = {ARENA_ARRAY(g->frame, int, slots), slots, 0};
    if (!grown.slots) return false; /* the smaller one still knows its names */
    *t = grown;
  }
  names_fill(g, t, count);
  return true;
}

Status graph_reserve(Graph *g, const char *name) {
  if (!names_grow(g, &g->reserved_names, g->reserved_count) ||
      !PUSH(g, reserved, reserved_count, reserved_capacity, name))
    return graph_out_of_memory(g);
  names_fill(g, &g->reserved_names, g->reserved_count);
  return STATUS_OK;
}

static bool is_taken(const Graph *g, const char *name) {
  return graph_find(g, name) || find_name(g, &g->reserved_names, name) >= 0 ||
         (g->origin && graph_find(g->origin, name));
}

static const char *numbered(Graph *g, const char *stem, int *number) {
  const char *name = stem;
  while (name && is_taken(g, name)) name = arena_print(g->frame, "%s_%d", stem, ++*number);
  return name ? name : (graph_out_of_memory(g), NULL);
}

const char *graph_fresh_name(Graph *g, const char *stem) { return numbered(g, stem, &g->made); }

const char *graph_stable_name(Graph *g, const char *stem) { return numbered(g, stem, &(int){0}); }

Status graph_rename(Graph *g, Value *v, const char *stem) {
  const char *name = graph_stable_name(g, stem);
  if (!name) return g->error->status;
  v->name = name;
  g->value_names.count = 0;
  memset(g->value_names.slots, 0, (size_t)g->value_names.slot_count * sizeof *g->value_names.slots);
  names_fill(g, &g->value_names, g->value_count);
  return STATUS_OK;
}

Status graph_claim(Graph *g, const char *name) {
  Value *v = graph_find(g, name);
  bool inner = v && (v->kind == VALUE_NODE || (v->kind == VALUE_CONSTANT && !v->initializer));
  for (int i = 0; i < g->output_count; i++) inner &= g->outputs[i] != v;
  return inner ? graph_rename(g, v, name) : STATUS_OK;
}

char *graph_list_names(Value *const *values, int count, const char *between, Arena *arena) {
  size_t bytes = 1;
  for (int i = 0; i < count; i++) bytes += strlen(values[i]->name) + strlen(between);
  char *text = arena_alloc(arena, bytes), *at = text;
  for (int i = 0; text && i < count; i++)
    at += snprintf(at, bytes - (size_t)(at - text), "%s%s", i ? between : "", values[i]->name);
  return text;
}

/* ---- values ---- */

Value *graph_value(Graph *g, const char *name, DType type, const Shape *shape, ValueKind kind) {
  if (!name && !(name = graph_fresh_name(g, "v"))) return NULL;
  if (!names_grow(g, &g->value_names, g->value_count)) return graph_out_of_memory(g), NULL;
  bool twice = graph_find(g, name), broken = strchr(name, '\n'); /* lists of names have one a line */
  if (twice || broken) {
    error_set(g->error, STATUS_INVALID_MODEL, NULL,
              twice ? "the name '%.200s' is given to two values" : "the name '%.200s' has a line break in it", name);
    return NULL;
  }
  Value *v = ARENA_NEW(g->frame, Value);
  if (!v || !PUSH(g, values, value_count, value_capacity, v)) return graph_out_of_memory(g), NULL;
  *v = (Value){.name = name, .type = type, .index = g->value_count - 1, .kind = kind, .root = v};
  if (shape) v->shape = *shape;
  names_fill(g, &g->value_names, g->value_count);
  return v;
}

/* Small integer constants are known as dims, so that shapes and axes are folded along the way. */
bool graph_know(Graph *g, Value *v) {
  size_t count;
  if (v->shape.rank > 1 || !shape_count(&v->shape, &count) || count > KNOWN_MAX) return true;
  if (v->type != DTYPE_INT64 && v->type != DTYPE_INT32 && v->type != DTYPE_BOOL) return true;
  Dim *dims = ARENA_ARRAY(g->arena, Dim, count);
  if (!dims) return false;
  for (size_t i = 0; i < count; i++) {
    dims[i] = v->type == DTYPE_INT64 ? ((const int64_t *)v->data)[i]
            : v->type == DTYPE_INT32 ? ((const int32_t *)v->data)[i]
                                     : ((const uint8_t *)v->data)[i];
    if (dim_is_symbol(dims[i])) return true; /* a number that looks like a symbol stays unknown */
  }
  v->known = dims;
  return true;
}

Value *graph_constant(Graph *g, const char *name, DType type, const Shape *shape, const void *data) {
  Value *v = graph_value(g, name, type, shape, VALUE_CONSTANT);
  if (!v) return NULL;
  v->data = (void *)(uintptr_t)data;
  return graph_know(g, v) ? v : (graph_out_of_memory(g), NULL);
}

Status graph_add_input(Graph *g, Value *v) {
  return v && PUSH(g, inputs, input_count, input_capacity, v) ? STATUS_OK : graph_out_of_memory(g);
}
Status graph_add_output(Graph *g, Value *v) {
  return v && PUSH(g, outputs, output_count, output_capacity, v) ? STATUS_OK : graph_out_of_memory(g);
}

const char *graph_metadata(const Graph *g, const char *key) {
  for (int i = 0; i < g->metadata.count; i++)
    if (strcmp(g->metadata.keys[i], key) == 0) return g->metadata.texts[i];
  return NULL;
}

Status graph_set_metadata(Graph *g, const char *key, const char *text) {
  for (int i = 0; i < g->metadata.count; i++)
    if (strcmp(g->metadata.keys[i], key) == 0) return g->metadata.texts[i] = text, STATUS_OK;
  int capacity = g->metadata.capacity;
  if (!room(g, &g->metadata.keys, g->metadata.count, &capacity, sizeof(char *))) return graph_out_of_memory(g);
  if (!room(g, &g->metadata.texts, g->metadata.count, &g->metadata.capacity, sizeof(char *)))
    return graph_out_of_memory(g);
  g->metadata.keys[g->metadata.count] = key;
  g->metadata.texts[g->metadata.count++] = text;
  return STATUS_OK;
}

/* ---- symbols ---- */

Dim graph_fresh_dim(Graph *g) {
  if (!PUSH(g, symbols, symbol_count, symbol_capacity, "")) return graph_out_of_memory(g), SYMBOL_0;
  return SYMBOL_0 - (g->symbol_count - 1);
}

Dim graph_symbol(Graph *g, const char *name) {
  if (!names_grow(g, &g->symbol_names, g->symbol_count)) return graph_out_of_memory(g), SYMBOL_0;
  int i = *name ? find_name(g, &g->symbol_names, name) : -1;
  if (i >= 0) return SYMBOL_0 - i;
  Dim d = graph_fresh_dim(g);
  if (g->symbol_count) g->symbols[g->symbol_count - 1] = name;
  return d;
}

const char *graph_symbol_name(const Graph *g, Dim d) {
  return dim_is_symbol(d) && dim_symbol(d) < g->symbol_count ? g->symbols[dim_symbol(d)] : "";
}

/* ---- nodes ---- */

const char *graph_opset_warning(const Graph *g, Arena *arena) {
  if (g->file_opset <= OPSET_MAX) return NULL;
  return arena_print(arena,
                     "the model is written in ai.onnx opset %d, newer than the %d we know: it is read as one of %d",
                     g->file_opset, OPSET_MAX, OPSET_MAX);
}

/* The newest meaning of `op` that the graph's opset has; the first one if the op is newer than the opset, as emitted
 * ones may be. */
static int version_in_force(Graph *g, const Op *op) {
  const char *domain = op->domain ? op->domain : "";
  int opset = graph_opset(g, domain), version = 0;
  if (!opset) { /* emitted contrib operators bring their domain with them */
    if (graph_import(g, domain, 1) != STATUS_OK) return 0;
    opset = 1;
  }
  version = op->since[0];
  for (int i = 1; i < SINCE_MAX && op->since[i] && op->since[i] <= opset; i++) version = op->since[i];
  return version;
}

static Status check_counts(const Node *n) {
  const Op *op = n->op;
  OpCount inputs = op->inputs, outputs = op->outputs.max ? op->outputs : (OpCount){1, 1};
  if (n->in_count < inputs.min || (inputs.max >= 0 && n->in_count > inputs.max))
    return node_invalid(n, "takes %d to %d inputs, %d came", inputs.min, inputs.max, n->in_count);
  if (n->out_count < outputs.min)
    return node_invalid(n, "has at least %d outputs, %d are asked for", outputs.min, n->out_count);
  if (n->out_count > outputs.max && outputs.max >= 0)
    return node_invalid(n, "has at most %d outputs, %d are asked for", outputs.max, n->out_count);
  for (int i = 0; i < n->attr_count; i++)
    if (n->attrs[i].kind == ATTR_GRAPH && !(op->flags & OP_SUBGRAPHS))
      return node_invalid(n, "it carries a subgraph, '%.64s'", n->attrs[i].name);
  for (int i = 0; i < n->in_count && !(op->flags & (OP_SUBGRAPHS | OP_SEQUENCES)); i++)
    if (n->in[i] && n->in[i]->kind == VALUE_SEQUENCE)
      return node_invalid(n, "input %d ('%.64s') is a sequence or an empty optional, it takes tensors", i,
                          n->in[i]->name);
  for (int i = 0; i < n->in_count && !(op->flags & (OP_SUBGRAPHS | OP_SEQUENCES | OP_STRINGS)); i++)
    if (n->in[i] && n->in[i]->type == DTYPE_STRING)
      return node_fail(n, STATUS_UNSUPPORTED_OP, "input %d ('%.64s') is string, it takes numbers", i, n->in[i]->name);
  int needed = inputs.max < 0 ? n->in_count : inputs.min; /* a variadic input cannot be left out */
  for (int i = 0; i < needed && !(op->flags & OP_SUBGRAPHS); i++)
    if (!n->in[i]) return node_invalid(n, "input %d must be there", i);
  return STATUS_OK;
}

static Status make_outputs(Node *n, const char *const *names) {
  Graph *g = n->graph;
  for (int i = 0; i < n->out_count; i++) {
    const char *name = names ? names[i] : NULL;
    if (name && !*name) continue;
    if (!name && !(name = graph_fresh_name(g, arena_print(g->frame, "%s_out%d", n->name, i))))
      return graph_out_of_memory(g);
    if (!(n->out[i] = graph_value(g, name, DTYPE_NONE, NULL, VALUE_NODE))) return g->error->status;
    n->out[i]->producer = n;
  }
  return STATUS_OK;
}

static Status defer(Node *n, Value *needed) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i])
      *n->out[i] = (Value){
          .name = n->out[i]->name, .index = n->out[i]->index, .kind = VALUE_NODE, .producer = n, .root = n->out[i]};
  n->scratch_bytes = 0;
  n->deferred.input = needed;
  n->deferred.pending = n->graph->deferral.pending = true;
  return STATUS_OK;
}

bool graph_begin_try(Graph *g) {
  bool around = g->deferral.tries;
  g->deferral.tries = g->deferral.allowed;
  g->deferral.needed = NULL;
  return around;
}

bool graph_end_try(Graph *g, bool around) {
  bool later = g->error->status == STATUS_DEFERRED;
  if (later) g->error->status = STATUS_OK;
  g->deferral.tries = around;
  return later;
}

static Status infer(Node *n) {
  Graph *g = n->graph;
  for (int i = 0; i < n->in_count && g->deferral.allowed; i++)
    if (n->in[i] && n->in[i]->type == DTYPE_NONE) return defer(n, NULL);
  bool expands = graph_begin_try(g);
  Status status = n->op->infer(n);
  if (graph_end_try(g, expands)) return defer(n, g->deferral.needed);
  for (int i = 0; i < n->out_count && status == STATUS_OK && !(n->op->flags & OP_STRINGS); i++)
    if (n->out[i] && n->out[i]->type == DTYPE_STRING)
      return node_fail(n, STATUS_UNSUPPORTED_OP, "it makes numbers, no strings");
  return status == STATUS_OK && g->arena->failed ? STATUS_OUT_OF_MEMORY : status;
}

Node *graph_bare_node(Graph *g, const Added *a) {
  if (g->error->status != STATUS_OK) return NULL;
  op_see(a->op);
  Node *n = ARENA_NEW(g->frame, Node);
  if (!n) return graph_out_of_memory(g), NULL;
  const char *first_out = a->out_names && a->out_count && a->out_names[0] && *a->out_names[0] ? a->out_names[0] : NULL;
  *n = (Node){.op = a->op,
              .expanded_from = g->expanding,
              .module = g->module,
              .graph = g,
              .stream = g->first_stream + g->node_count,
              .in_count = a->in_count,
              .out_count = a->out_count,
              .attr_count = a->attr_count,
              .deferred.done = a->done};
  bool named = a->name && *a->name;
  n->name = named ? a->name : first_out ? first_out : arena_print(g->frame, "%s_%d", a->op->name, ++g->made);
  n->in = ARENA_ARRAY(g->frame, Value *, a->in_count);
  n->out = ARENA_ARRAY(g->frame, Value *, a->out_count);
  n->attrs = ARENA_ARRAY(g->frame, Attr, a->attr_count);
  if (!n->name || !n->in || !n->out || !n->attrs) return graph_out_of_memory(g), NULL;
  if (a->in_count) memcpy(n->in, a->in, (size_t)a->in_count * sizeof *a->in);
  if (a->attr_count) memcpy(n->attrs, a->attrs, (size_t)a->attr_count * sizeof *a->attrs);
  n->version = version_in_force(g, a->op);
  if (!n->version) return graph_out_of_memory(g), NULL;
  return check_counts(n) == STATUS_OK ? n : NULL;
}

Node *graph_node(Graph *g, const Op *op, const char *name, Value *const *in, int in_count, const char *const *out_names,
                 int out_count, const Attr *attrs, int attr_count) {
  Node *n = graph_bare_node(g, &(Added){op, name, in, in_count, out_names, out_count, attrs, attr_count, 0});
  if (!n || make_outputs(n, out_names) != STATUS_OK) return NULL;
  Status status = infer(n);
  if (status != STATUS_OK) { /* an infer may give a bare status for memory */
    if (status == STATUS_OUT_OF_MEMORY) graph_out_of_memory(g);
    error_set(g->error, status, n->name, "%s '%s' is not valid", op->name, n->name);
    return NULL;
  }
  return PUSH(g, nodes, node_count, node_capacity, n) ? n : (graph_out_of_memory(g), NULL);
}

Status graph_defer(Graph *g, const Added *a, Value *needed) {
  Node *n = graph_bare_node(g, a);
  if (!n || make_outputs(n, a->out_names) != STATUS_OK) return g->error->status;
  defer(n, needed);
  return PUSH(g, nodes, node_count, node_capacity, n) ? STATUS_OK : graph_out_of_memory(g);
}

Graph *graph_new_like(const Graph *g, Arena *arena, Error *error) {
  Graph *to = graph_new(arena, error);
  if (!to) return NULL;
  for (int i = 0; i < g->symbol_count; i++)
    if (!PUSH(to, symbols, symbol_count, symbol_capacity, g->symbols[i])) return graph_out_of_memory(to), NULL;
  for (int i = 0; i < g->opset_count; i++)
    if (graph_import(to, g->opsets[i].domain, g->opsets[i].version) != STATUS_OK) return NULL;
  for (int i = 0; i < g->metadata.count; i++)
    if (graph_set_metadata(to, g->metadata.keys[i], g->metadata.texts[i]) != STATUS_OK) return NULL;
  to->rng = g->rng;
  to->deferral.allowed = g->deferral.allowed;
  to->predicts = g->predicts;
  to->inlined = g->inlined;
  to->work_ahead = g->work_ahead;
  to->work_expanded = g->work_expanded;
  to->work_limit = g->work_limit;
  to->stop = g->stop;
  to->origin = g;
  to->made = g->made;
  to->ir_version = g->ir_version;
  to->file_opset = g->file_opset;
  return to;
}
