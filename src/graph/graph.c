/* Graph: values found by name, nodes that infer as they are added, symbols. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "kernels/number.h"
#include "graph/upgrade.h"
#include "graph/op.h"

Graph *graph_new(Arena *arena, Error *error) {
  Graph *g = ARENA_NEW(arena, Graph);
  if (!g) {
    error_set(error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for a graph");
    return NULL;
  }
  g->arena = arena;
  g->error = error;
  return g;
}

static Status out_of_memory(Graph *g) {
  return error_set(g->error, STATUS_OUT_OF_MEMORY, NULL,
                   "out of memory: the graph needs more than the %zu bytes it has", g->arena->used_bytes);
}

/* Room for one more item of the list of g whose pointer stands at `list`; it stays as it is when there is none. */
static bool room(Graph *g, void *list, int count, int *capacity, size_t item_bytes) {
  void *items;
  memcpy(&items, list, sizeof items);
  items = arena_list_grow(g->arena, items, count, capacity, item_bytes);
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
  return PUSH(g, opsets, opset_count, opset_capacity, opset) ? STATUS_OK : out_of_memory(g);
}

/* ---- names ---- */

static uint32_t name_hash(const char *s) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
  return h;
}

static const char *name_at(const Graph *g, const NameTable *t, int i) {
  return t == &g->symbol_names ? g->symbols[i] : g->values[i]->name;
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

/* Takes the names up to `count` in; a symbol without a name is found by none. */
static void names_fill(Graph *g, NameTable *t, int count) {
  for (int i = t->count; i < count; i++) {
    const char *name = name_at(g, t, i);
    if (*name || t != &g->symbol_names) *slot_of(g, t, name) = i + 1;
  }
  t->count = count;
}

/* Room for one more than `count` names, which are in it afterwards. */
static bool names_grow(Graph *g, NameTable *t, int count) {
  int slots = t->slot_count ? t->slot_count : 64;
  while (count * 2 >= slots) slots *= 2;
  if (slots != t->slot_count) {
    *t = (NameTable){ARENA_ARRAY(g->arena, int, slots), slots, 0};
    if (!t->slots) return *t = (NameTable){0}, false;
  }
  names_fill(g, t, count);
  return true;
}

const char *graph_fresh_name(Graph *g, const char *stem) {
  if (!stem) return out_of_memory(g), NULL;
  if (!graph_find(g, stem)) return stem;
  for (;;) {
    const char *name = arena_print(g->arena, "%s_%d", stem, ++g->made);
    if (!name) return out_of_memory(g), NULL;
    if (!graph_find(g, name)) return name;
  }
}

Status graph_rename(Graph *g, Value *v, const char *stem) {
  const char *name = graph_fresh_name(g, stem);
  if (!name) return g->error->status;
  v->name = name;
  g->value_names.count = 0;
  memset(g->value_names.slots, 0, (size_t)g->value_names.slot_count * sizeof *g->value_names.slots);
  names_fill(g, &g->value_names, g->value_count);
  return STATUS_OK;
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
  if (!names_grow(g, &g->value_names, g->value_count)) return out_of_memory(g), NULL;
  bool twice = graph_find(g, name), broken = strchr(name, '\n'); /* lists of names have one a line */
  if (twice || broken) {
    error_set(g->error, STATUS_INVALID_MODEL, NULL,
              twice ? "the name '%.200s' is given to two values" : "the name '%.200s' has a line break in it", name);
    return NULL;
  }
  Value *v = ARENA_NEW(g->arena, Value);
  if (!v || !PUSH(g, values, value_count, value_capacity, v)) return out_of_memory(g), NULL;
  *v = (Value){.name = name, .type = type, .index = g->value_count - 1, .kind = kind, .root = v};
  if (shape) v->shape = *shape;
  names_fill(g, &g->value_names, g->value_count);
  return v;
}

enum { KNOWN_MAX = 64 };

/* Small integer constants are known as dims, so that shapes and axes fold on the way. */
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
  return graph_know(g, v) ? v : (out_of_memory(g), NULL);
}

Status graph_add_input(Graph *g, Value *v) {
  return v && PUSH(g, inputs, input_count, input_capacity, v) ? STATUS_OK : out_of_memory(g);
}
Status graph_add_output(Graph *g, Value *v) {
  return v && PUSH(g, outputs, output_count, output_capacity, v) ? STATUS_OK : out_of_memory(g);
}

const char *graph_metadata(const Graph *g, const char *key) {
  for (int i = 0; i < g->metadata.count; i++)
    if (strcmp(g->metadata.keys[i], key) == 0) return g->metadata.texts[i];
  return NULL;
}

Status graph_set_metadata(Graph *g, const char *key, const char *text) {
  int capacity = g->metadata.capacity;
  if (!room(g, &g->metadata.keys, g->metadata.count, &capacity, sizeof(char *))) return out_of_memory(g);
  if (!room(g, &g->metadata.texts, g->metadata.count, &g->metadata.capacity, sizeof(char *))) return out_of_memory(g);
  g->metadata.keys[g->metadata.count] = key;
  g->metadata.texts[g->metadata.count++] = text;
  return STATUS_OK;
}

/* ---- symbols ---- */

Dim graph_fresh_dim(Graph *g) {
  if (!PUSH(g, symbols, symbol_count, symbol_capacity, "")) return out_of_memory(g), SYMBOL_0;
  return SYMBOL_0 - (g->symbol_count - 1);
}

Dim graph_symbol(Graph *g, const char *name) {
  if (!names_grow(g, &g->symbol_names, g->symbol_count)) return out_of_memory(g), SYMBOL_0;
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

/* The newest meaning of `op` that the graph's opset has; the first, when the op is younger than the opset: what is
 * emitted may be. */
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
  for (int i = 0; i < inputs.min && !(op->flags & OP_SUBGRAPHS); i++)
    if (!n->in[i]) return node_invalid(n, "input %d must be there", i);
  return STATUS_OK;
}

static Status make_outputs(Node *n, const char *const *names) {
  Graph *g = n->graph;
  for (int i = 0; i < n->out_count; i++) {
    const char *name = names ? names[i] : NULL;
    if (name && !*name) continue;
    if (!name && !(name = graph_fresh_name(g, arena_print(g->arena, "%s_out%d", n->name, i)))) return out_of_memory(g);
    if (!(n->out[i] = graph_value(g, name, DTYPE_NONE, NULL, VALUE_NODE))) return g->error->status;
    n->out[i]->producer = n;
  }
  return STATUS_OK;
}

static Status defer(Node *n, Value *awaits) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i])
      *n->out[i] = (Value){
          .name = n->out[i]->name, .index = n->out[i]->index, .kind = VALUE_NODE, .producer = n, .root = n->out[i]};
  n->scratch_bytes = 0;
  n->deferred.input = awaits;
  n->deferred.waits = n->graph->waiting.open = true;
  return STATUS_OK;
}

/* Gives what end_try wants back: whether a composition around tries, too. */
static bool begin_try(Graph *g) {
  bool around = g->waiting.tries;
  g->waiting.tries = g->waiting.allowed;
  g->waiting.missed = NULL;
  return around;
}

/* Whether it is to be put off. */
static bool end_try(Graph *g, bool around) {
  bool later = g->error->status == STATUS_LATER;
  if (later) g->error->status = STATUS_OK;
  g->waiting.tries = around;
  return later;
}

static Status infer(Node *n) {
  Graph *g = n->graph;
  for (int i = 0; i < n->in_count && g->waiting.allowed; i++)
    if (n->in[i] && n->in[i]->type == DTYPE_NONE) return defer(n, NULL);
  bool composes = begin_try(g);
  Status status = n->op->infer(n);
  if (end_try(g, composes)) return defer(n, g->waiting.missed);
  for (int i = 0; i < n->out_count && status == STATUS_OK && !(n->op->flags & OP_STRINGS); i++)
    if (n->out[i] && n->out[i]->type == DTYPE_STRING)
      return node_fail(n, STATUS_UNSUPPORTED_OP, "it makes numbers, no strings");
  return status == STATUS_OK && g->arena->failed ? STATUS_OUT_OF_MEMORY : status;
}

/* A node without outputs, in no list yet. */
static Node *node_new(Graph *g, const Op *op, const char *name, Value *const *in, int in_count,
                      const char *const *out_names, int out_count, const Attr *attrs, int attr_count) {
  if (g->error->status != STATUS_OK) return NULL;
  Node *n = ARENA_NEW(g->arena, Node);
  if (!n) return out_of_memory(g), NULL;
  const char *first_out = out_names && out_count && out_names[0] && *out_names[0] ? out_names[0] : NULL;
  *n = (Node){.op = op,
              .graph = g,
              .stream = g->first_stream + g->node_count,
              .in_count = in_count,
              .out_count = out_count,
              .attr_count = attr_count};
  n->name = name && *name ? name : first_out ? first_out : arena_print(g->arena, "%s_%d", op->name, ++g->made);
  n->in = ARENA_ARRAY(g->arena, Value *, in_count);
  n->out = ARENA_ARRAY(g->arena, Value *, out_count);
  n->attrs = ARENA_ARRAY(g->arena, Attr, attr_count);
  if (!n->name || !n->in || !n->out || !n->attrs) return out_of_memory(g), NULL;
  if (in_count) memcpy(n->in, in, (size_t)in_count * sizeof *in);
  if (attr_count) memcpy(n->attrs, attrs, (size_t)attr_count * sizeof *attrs);
  n->version = version_in_force(g, op);
  if (!n->version) return out_of_memory(g), NULL;
  return check_counts(n) == STATUS_OK ? n : NULL;
}

Node *graph_node(Graph *g, const Op *op, const char *name, Value *const *in, int in_count, const char *const *out_names,
                 int out_count, const Attr *attrs, int attr_count) {
  Node *n = node_new(g, op, name, in, in_count, out_names, out_count, attrs, attr_count);
  if (!n || make_outputs(n, out_names) != STATUS_OK) return NULL;
  Status status = infer(n);
  if (status != STATUS_OK) { /* an infer may give a bare status for memory */
    if (status == STATUS_OUT_OF_MEMORY) out_of_memory(g);
    error_set(g->error, status, n->name, "%s '%s' is not valid", op->name, n->name);
    return NULL;
  }
  return PUSH(g, nodes, node_count, node_capacity, n) ? n : (out_of_memory(g), NULL);
}

/* ---- nodes that become others ---- */

/* The type in which an operator computes those of a type; the same where it takes them as they are. */
static DType wide_of(const Op *op, DType type) {
  switch (type) {
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16: return DTYPE_FLOAT32;
    case DTYPE_FLOAT64: return op->flags & OP_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    case DTYPE_INT8:
    case DTYPE_UINT8:
    case DTYPE_INT16:
    case DTYPE_UINT16: return op->flags & OP_SMALL_IN_FLOAT ? DTYPE_FLOAT32 : DTYPE_INT64;
    case DTYPE_UINT32: return DTYPE_INT64;
    default: return type;
  }
}

/* The type of the first input that the operator does not take as it is, NONE when it takes all. */
static DType narrow_of(const Added *a) {
  for (int i = 0; i < a->in_count && !(a->op->flags & OP_ANY_TYPE); i++)
    if (a->in[i] && wide_of(a->op, a->in[i]->type) != a->in[i]->type) return a->in[i]->type;
  return DTYPE_NONE;
}

/* Whether outputs are of the narrow type: they are of the first input's of its kind. */
static bool narrows(const Added *a, DType narrow) {
  int i = 0;
  while (!a->in[i] || dtype_is_float(a->in[i]->type) != dtype_is_float(narrow)) i++;
  return a->in[i]->type == narrow && !(a->op->flags & OP_WIDE_OUT);
}

static Value *emit_cast(Graph *g, Value *v, DType to) { return emit_with(g, "Cast", ATTRS(attr_of_int("to", to)), v); }

/* Float16 and bfloat16 are computed in float32, small ints in int64, and float64 in float32 where no way of its own is
 * written: the inputs are cast, and outputs of that type cast back. */
static Status widen(Graph *g, const Added *a, DType narrow, Value **out) {
  Value **in = ARENA_ARRAY(g->arena, Value *, a->in_count);
  if (!in) return out_of_memory(g);
  for (int i = 0; i < a->in_count; i++) {
    DType wide = a->in[i] ? wide_of(a->op, a->in[i]->type) : DTYPE_NONE;
    in[i] = a->in[i] && wide != a->in[i]->type ? emit_cast(g, a->in[i], wide) : a->in[i];
  }
  Added with = *a;
  with.in = in;
  TRY(graph_compose(g, &with, out));
  for (int i = 0; i < a->out_count && narrows(a, narrow); i++)
    if (out[i] && out[i]->type == wide_of(a->op, narrow)) out[i] = emit_cast(g, out[i], narrow);
  return g->error->status;
}

bool graph_is_composed(const Added *a) { return a->op->compose && (!a->op->composes || a->op->composes(a)); }

static Status compose(Graph *g, const Added *a, Compose *c) {
  Node *n = node_new(g, a->op, a->name, a->in, a->in_count, a->out_names, a->out_count, a->attrs, a->attr_count);
  if (!n) return g->error->status;
  n->deferred.done = a->done;
  c->graph = g;
  c->node = n;
  TRY(a->op->compose(c));
  if (g->arena->failed) return out_of_memory(g);
  return g->error->status;
}

/* The values of a node's outputs, whatever nodes compute them. */
Status graph_compose(Graph *g, const Added *a, Value **out) {
  if (graph_is_composed(a)) return compose(g, a, &(Compose){.out = out});
  Node *n;
  if (!(n = graph_node(g, a->op, a->name, a->in, a->in_count, NULL, a->out_count, a->attrs, a->attr_count)))
    return g->error->status;
  for (int i = 0; i < n->out_count; i++) out[i] = n->out[i];
  return STATUS_OK;
}

static Status add_deferred(Graph *g, const Added *a, Value *awaits) {
  Node *n = node_new(g, a->op, a->name, a->in, a->in_count, a->out_names, a->out_count, a->attrs, a->attr_count);
  if (!n || make_outputs(n, a->out_names) != STATUS_OK) return g->error->status;
  n->deferred.done = a->done;
  defer(n, awaits);
  return PUSH(g, nodes, node_count, node_capacity, n) ? STATUS_OK : out_of_memory(g);
}

/* The input that is missed, or when it is a value within the composition, one that it may follow from. */
static Value *awaited_input(const Added *a, const Value *missed) {
  Value *first = NULL;
  for (int i = 0; i < a->in_count; i++) {
    if (a->in[i] && a->in[i] == missed) return a->in[i];
    if (a->in[i] && a->in[i]->kind != VALUE_CONSTANT && !first) first = a->in[i];
  }
  return first;
}

/* The same sequence under another name. */
static Status name_sequence(Graph *g, const char *name, const Value *from) {
  Value *v = graph_value(g, name, from->type, NULL, VALUE_SEQUENCE);
  if (!v) return g->error->status;
  v->items = from->items;
  v->item_count = from->item_count;
  v->absent = from->absent;
  return STATUS_OK;
}

/* Gives the values the names that the node's outputs have. */
static Status name_outputs(Graph *g, const Added *a, Value **out) {
  for (int i = 0; i < a->out_count; i++) {
    if (a->out_names[i] && !*a->out_names[i]) continue;
    if (out[i] && out[i]->kind == VALUE_SEQUENCE) {
      TRY(name_sequence(g, a->out_names[i], out[i]));
      continue;
    }
    if (!out[i])
      return error_set(g->error, STATUS_UNSUPPORTED_OP, a->name, "%s '%.128s': output %d is one we do not compute",
                       a->op->name, a->name ? a->name : "", i);
    if (!graph_node(g, op_find_in("", "Identity"), NULL, &out[i], 1, &a->out_names[i], 1, NULL, 0))
      return g->error->status;
  }
  return STATUS_OK;
}

static Status check_age(Graph *g, const Added *a) {
  const char *domain = a->op->domain ? a->op->domain : "";
  int opset = *domain ? graph_opset(g, domain) : g->file_opset;
  if (opset >= a->op->since[0]) return STATUS_OK;
  return error_set(g->error, STATUS_UNSUPPORTED_OP, a->name,
                   "%s '%.128s': opset %d of domain '%s' has no such operator", a->op->name, a->name ? a->name : "",
                   opset, *domain ? domain : "ai.onnx");
}

/* Before opset 7 the second operand began at dim `axis` of the first, instead of ending with it; PRelu's slope was of
 * channels. */
static Value *aligned_operand(Graph *g, const Added *a) {
  const Node with = {.attrs = (Attr *)(uintptr_t)a->attrs, .attr_count = a->attr_count};
  bool slope = strcmp(a->op->name, "PRelu") == 0;
  const Attr *axis = node_attr(&with, "axis", ATTR_INT);
  if (a->in_count != 2 || !a->in[0] || !a->in[1] || g->file_opset >= 7 ||
      !(slope || (axis && node_int(&with, "broadcast", 0))))
    return NULL;
  int64_t first = slope ? 1 : axis->i, dims[RANK_MAX] = {0};
  int rank = a->in[0]->shape.rank, own = a->in[1]->shape.rank;
  if (first < 0) first += rank;
  int to = rank - (int)first;
  if (own < 1 || to <= own || to > RANK_MAX) return NULL;
  for (int i = own; i < to; i++) dims[i] = 1; /* 0 copies */
  return emit(g, "Reshape", a->in[1], emit_ints(g, dims, to));
}

static Status add(Graph *g, const Added *a);

Status graph_add(Graph *g, const Added *a) {
  TRY(check_age(g, a));
  Value *second = aligned_operand(g, a);
  TRY(g->error->status);
  Added with = *a;
  Value *aligned[] = {second ? a->in[0] : NULL, second};
  if (second) with.in = aligned;
  TRY(upgrade(g, &with));
  return add(g, &with);
}

/* What a composition that is put off has added: its next try adds it again, so that nothing is to be computed for it.
 */
static void abandon(Graph *g, int first) {
  for (int i = first; i < g->node_count; i++) g->nodes[i]->deferred.input = NULL, g->nodes[i]->deferred.done = 0;
}

static Status add(Graph *g, const Added *a) {
  DType narrow = narrow_of(a);
  if (!narrow && !graph_is_composed(a))
    return graph_node(g, a->op, a->name, a->in, a->in_count, a->out_names, a->out_count, a->attrs, a->attr_count)
             ? STATUS_OK
             : g->error->status;
  for (int i = 0; i < a->in_count && g->waiting.allowed; i++)
    if (a->in[i] && a->in[i]->type == DTYPE_NONE) return add_deferred(g, a, NULL);
  if (a->done && !g->waiting.resumes) return add_deferred(g, a, NULL);
  Value **out = ARENA_ARRAY(g->arena, Value *, a->out_count);
  if (!out) return out_of_memory(g);
  int first = g->node_count;
  Compose c = {.out = out};
  bool around = begin_try(g);
  Status status = narrow ? widen(g, a, narrow, out) : compose(g, a, &c);
  bool open = end_try(g, around);
  if (status == STATUS_OK && c.rest.op) return c.rest.out_names = a->out_names, add_deferred(g, &c.rest, NULL);
  for (int i = 0; i < a->out_count && !(a->op->flags & OP_SUBGRAPHS); i++) open |= out[i] && out[i]->type == DTYPE_NONE;
  if (open && g->waiting.allowed) {
    abandon(g, first);
    return add_deferred(g, a, awaited_input(a, g->waiting.missed));
  }
  TRY(status);
  return name_outputs(g, a, out);
}

Graph *graph_new_like(const Graph *g, Arena *arena, Error *error) {
  Graph *to = graph_new(arena, error);
  if (!to) return NULL;
  for (int i = 0; i < g->symbol_count; i++)
    if (!PUSH(to, symbols, symbol_count, symbol_capacity, g->symbols[i])) return out_of_memory(to), NULL;
  for (int i = 0; i < g->opset_count; i++)
    if (graph_import(to, g->opsets[i].domain, g->opsets[i].version) != STATUS_OK) return NULL;
  for (int i = 0; i < g->metadata.count; i++)
    if (graph_set_metadata(to, g->metadata.keys[i], g->metadata.texts[i]) != STATUS_OK) return NULL;
  to->rng = g->rng;
  to->waiting.allowed = g->waiting.allowed;
  to->inlined = g->inlined;
  to->work_ahead = g->work_ahead;
  to->work_composed = g->work_composed;
  to->work_limit = g->work_limit;
  to->made = g->made; /* what becomes nodes in a clone takes no name of a value that is cloned after it */
  to->ir_version = g->ir_version;
  to->file_opset = g->file_opset;
  return to;
}
