/* Model-local functions: a node that calls one becomes the nodes of its body, before anything of the graph is read.
 *
 *   layer 'l0' (X) ─▶ Y                        Mul 'l0/…' (X, X)      ─▶ l0/h
 *   layer (a) ─▶ b:  h = Mul(a, a)    ──▶      Relu 'l0/…' (l0/h)     ─▶ Y
 *                    b = Relu(h)
 */
#include <string.h>

#include "onnx/parts.h"
#include "graph/op.h"

/* The limits: calls within calls; nodes, inputs, outputs and attributes of all bodies; the bytes of these and of the
 * data of a function in every call but one, since each call reads and writes it once. */
enum { DEPTH_MAX = 64, INLINED_MAX = 1 << 19, BYTES_MAX = 1 << 26 };

typedef struct Function {
  const Onnx__FunctionProto *from;
  bool checked, open, called; /* its imports are those of the model; a call of it is being inlined; a call of it was */
} Function;

typedef struct Inliner {
  Onnx__ModelProto *model;
  Function *functions;
  Graph *table; /* no graph, but names: of functions, in their order */
  Graph *names; /* holds all names of the model and all new ones */
  Arena *arena;
  Error *error;
  int inlined, depth;
  size_t bytes; /* bytes of data in calls, less those that the arena had at the start; may wrap around */
} Inliner;

/* One call; the model's own graph is one without a function. */
typedef struct Call {
  Function *function;
  const Onnx__NodeProto *node;
  Graph *names;         /* holds the body's names */
  const char **outside; /* a value's name outside the body, by its index in `names`; "" where an input is absent */
  int outside_capacity;
  bool again;
} Call;

typedef struct Nodes {
  Onnx__NodeProto **items;
  int count, capacity;
} Nodes;

static char *or_empty(char *s) { return s ? s : (char *)(uintptr_t)""; }
static bool out_of_memory(Inliner *in) { return error_memory(in->error, "for the model's functions"), false; }

/* ---- how much there is ---- */

static size_t tensor_bytes(const Onnx__TensorProto *t) {
  size_t bytes = t->raw_data.len + 4 * (t->n_float_data + t->n_int32_data) +
                 8 * (t->n_int64_data + t->n_double_data + t->n_uint64_data);
  for (size_t i = 0; i < t->n_string_data; i++) bytes += t->string_data[i].len + sizeof(char *);
  return bytes;
}

static size_t attribute_bytes(const Onnx__AttributeProto *a) {
  size_t bytes = a->s.len + 4 * a->n_floats + 8 * a->n_ints + (a->t ? tensor_bytes(a->t) : 0);
  for (size_t i = 0; i < a->n_strings; i++) bytes += a->strings[i].len + sizeof(char *);
  return bytes;
}

static bool count(Inliner *in, const Call *call, size_t nodes, size_t bytes) {
  if (!call->function) return true;
  if (call->again) in->bytes += bytes;
  bool fits = nodes <= INLINED_MAX && (in->inlined += (int)nodes) <= INLINED_MAX &&
              in->bytes + in->arena->used_bytes <= BYTES_MAX;
  return fits || (error_set(in->error, STATUS_INVALID_MODEL, onnx_node_title(call->node),
                            "'%.128s' calls function '%.64s': written out, the model's functions are too large",
                            onnx_node_title(call->node), call->function->from->name),
                  false);
}

/* ---- names ---- */

static Value *note(Inliner *in, const char *name) {
  Value *v = graph_find(in->names, name);
  return v ? v : graph_value(in->names, name, DTYPE_NONE, NULL, VALUE_NODE);
}

static bool note_graph(Inliner *in, const Onnx__GraphProto *g) {
  bool good = true;
  for (size_t i = 0; i < g->n_input; i++) good = good && note(in, or_empty(g->input[i]->name));
  for (size_t i = 0; i < g->n_initializer; i++) good = good && note(in, or_empty(g->initializer[i]->name));
  for (size_t i = 0; i < g->n_node; i++) {
    const Onnx__NodeProto *n = g->node[i];
    for (size_t k = 0; k < n->n_output; k++) good = good && note(in, n->output[k]);
    for (size_t k = 0; k < n->n_attribute; k++)
      good = good && (!n->attribute[k]->g || note_graph(in, n->attribute[k]->g));
  }
  return good;
}

static char *within(Inliner *in, const Call *call, const char *name) {
  return arena_print(in->arena, "%.120s/%.120s", onnx_node_title(call->node), name);
}

static bool bind(Inliner *in, Call *call, const char *name, const char *outside) {
  const Value *v = graph_value(call->names, name, DTYPE_NONE, NULL, VALUE_NODE),
              *there = v && *outside ? note(in, outside) : NULL;
  if (!v || (*outside && !there)) return false;
  const char **list = arena_list_grow(in->arena, call->outside, v->index, &call->outside_capacity, sizeof *list);
  if (!list) return out_of_memory(in);
  (call->outside = list)[v->index] = there ? there->name : "";
  return true;
}

/* The name outside of a value of the body; NULL without memory. */
static char *outside(Inliner *in, Call *call, char *name) {
  if (!call->function || !*or_empty(name)) return or_empty(name);
  const Value *v = graph_find(call->names, name);
  if (!v) {
    const char *stem = within(in, call, name), *fresh = stem ? graph_fresh_name(in->names, stem) : NULL;
    if (!fresh || !bind(in, call, name, fresh)) return NULL;
    v = graph_find(call->names, name);
  }
  return (char *)(uintptr_t)call->outside[v->index];
}

static char **outsides(Inliner *in, Call *call, char **from, size_t count) {
  char **to = ARENA_ARRAY(in->arena, char *, count);
  for (size_t i = 0; to && i < count; i++)
    if (!(to[i] = outside(in, call, from[i]))) return NULL;
  return to;
}

/* ---- attributes ---- */

static Onnx__AttributeProto *find(Onnx__AttributeProto *const *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(or_empty(list[i]->name), name) == 0) return list[i];
  return NULL;
}

static bool inline_graph(Inliner *in, Call *call, const Onnx__GraphProto *from, Onnx__GraphProto *to);

/* An attribute of the body: its own, or the caller's or the function's default under the name it has here; NULL where
 * nobody gives it. */
static bool inline_attribute(Inliner *in, Call *call, Onnx__AttributeProto *a, Onnx__AttributeProto **out) {
  const Onnx__FunctionProto *f = call->function ? call->function->from : NULL;
  const char *ref = or_empty(a->ref_attr_name);
  *out = a;
  if (f && *ref) {
    Onnx__AttributeProto *given = find(call->node->attribute, call->node->n_attribute, ref);
    if (!given) given = find(f->attribute_proto, f->n_attribute_proto, ref);
    if (!(*out = given)) return true;
    in->bytes += attribute_bytes(given);
    if (a->has_type && given->has_type && a->type != given->type)
      return error_set(in->error, STATUS_INVALID_MODEL, NULL,
                       "'%.128s' gives function '%.64s' an attribute '%.64s' of another type than its body reads",
                       onnx_node_title(call->node), f->name, ref),
             false;
  } else if (!a->g) return true;
  Onnx__AttributeProto *copy = ARENA_NEW(in->arena, Onnx__AttributeProto);
  if (!copy) return out_of_memory(in);
  *copy = **out;
  copy->name = a->name;
  if (*out == a) { /* a given one's graph has the caller's names already */
    if (!(copy->g = ARENA_NEW(in->arena, Onnx__GraphProto))) return out_of_memory(in);
    if (!inline_graph(in, call, a->g, copy->g)) return false;
  }
  *out = copy;
  return true;
}

/* ---- nodes ---- */

static bool push(Inliner *in, Nodes *to, Onnx__NodeProto *n) {
  to->items = arena_list_grow(in->arena, to->items, to->count, &to->capacity, sizeof *to->items);
  return to->items ? to->items[to->count++] = n, true : out_of_memory(in);
}

static Onnx__NodeProto *copy_node(Inliner *in, Call *call, const Onnx__NodeProto *from) {
  Onnx__NodeProto *n = ARENA_NEW(in->arena, Onnx__NodeProto);
  size_t size = 1 + from->n_input + from->n_output + from->n_attribute, bytes = 0;
  for (size_t i = 0; i < from->n_attribute; i++) bytes += attribute_bytes(from->attribute[i]);
  if (!n || !count(in, call, size, bytes)) return NULL;
  *n = *from;
  n->n_attribute = 0;
  n->input = outsides(in, call, from->input, from->n_input);
  n->output = outsides(in, call, from->output, from->n_output);
  n->attribute = ARENA_ARRAY(in->arena, Onnx__AttributeProto *, from->n_attribute);
  if (call->function && *or_empty(from->name)) n->name = within(in, call, from->name);
  if (!n->input || !n->output || !n->attribute) return NULL;
  for (size_t i = 0; i < from->n_attribute; i++) {
    if (!inline_attribute(in, call, from->attribute[i], &n->attribute[n->n_attribute])) return NULL;
    n->n_attribute += n->attribute[n->n_attribute] != NULL;
  }
  return n;
}

/* Adds the lengths of the first two, so that no two functions have the same key. */
static const char *key_of(Inliner *in, char *domain, char *name, char *overload) {
  const char *in_domain = onnx_domain(domain);
  return arena_print(in->arena, "%s%s%s %zu %zu", in_domain, or_empty(name), or_empty(overload), strlen(in_domain),
                     strlen(or_empty(name)));
}

/* The function that a node calls; NULL for an operator. Operators of ours are faster and come first. */
static Function *function_of(Inliner *in, const Onnx__NodeProto *n) {
  if (op_find_in(onnx_domain(n->domain), or_empty(n->op_type))) return NULL;
  const char *key = key_of(in, n->domain, n->op_type, n->overload);
  const Value *v = key ? graph_find(in->table, key) : NULL;
  return v ? &in->functions[v->index] : NULL;
}

static int meaning(const Op *op, int64_t opset) {
  int since = 0;
  for (int i = 0; i < SINCE_MAX && op->since[i] && op->since[i] <= opset; i++) since = op->since[i];
  return since;
}

/* A function may have another opset than the model if its operators mean the same in both. */
static bool check_import(Inliner *in, const Onnx__FunctionProto *f, const Onnx__OperatorSetIdProto *opset,
                         const Onnx__OperatorSetIdProto *model) {
  for (size_t i = 0; i < f->n_node; i++) {
    const char *domain = onnx_domain(f->node[i]->domain);
    const Op *op = strcmp(domain, onnx_domain(opset->domain)) == 0 ? op_find_in(domain, or_empty(f->node[i]->op_type))
                                                                   : NULL;
    if (op && meaning(op, opset->version) != meaning(op, model->version))
      return error_set(in->error, STATUS_UNSUPPORTED_OP, NULL,
                       "function '%.64s' has %.48s of opset %lld, which is another than that of the model's opset %lld",
                       f->name, op->name, (long long)opset->version, (long long)model->version),
             false;
  }
  return true;
}

static bool check_imports(Inliner *in, Function *function) {
  const Onnx__FunctionProto *f = function->from;
  Onnx__ModelProto *m = in->model;
  for (size_t i = 0; i < f->n_opset_import && !function->checked; i++) {
    size_t k = 0;
    while (k < m->n_opset_import &&
           strcmp(onnx_domain(m->opset_import[k]->domain), onnx_domain(f->opset_import[i]->domain)) != 0)
      k++;
    if (k < m->n_opset_import) {
      if (m->opset_import[k]->version != f->opset_import[i]->version &&
          !check_import(in, f, f->opset_import[i], m->opset_import[k]))
        return false;
      continue;
    }
    Onnx__OperatorSetIdProto **more = ARENA_ARRAY(in->arena, Onnx__OperatorSetIdProto *, k + 1);
    if (!more) return out_of_memory(in);
    memcpy(more, m->opset_import, k * sizeof *more);
    more[m->n_opset_import++] = f->opset_import[i];
    m->opset_import = more;
  }
  return function->checked = true;
}

/* The body's inputs and outputs are those of the call. An output that is also an input, or another output, is a
 * copy. */
static bool bind_ports(Inliner *in, Call *call, Nodes *copies) {
  const Onnx__NodeProto *n = call->node;
  const Onnx__FunctionProto *f = call->function->from;
  if (n->n_input > f->n_input || n->n_output > f->n_output)
    return error_set(in->error, STATUS_INVALID_MODEL, onnx_node_title(n),
                     "'%.128s' calls function '%.64s' of %zu inputs and %zu outputs with %zu and %zu",
                     onnx_node_title(n), f->name, f->n_input, f->n_output, n->n_input, n->n_output),
           false;
  for (size_t i = 0; i < f->n_input; i++)
    if (!bind(in, call, f->input[i], i < n->n_input ? n->input[i] : "")) return false;
  for (size_t i = 0; i < n->n_output; i++) {
    if (!*n->output[i]) continue;
    if (!graph_find(call->names, f->output[i])) {
      if (!bind(in, call, f->output[i], n->output[i])) return false;
      continue;
    }
    const char *from = outside(in, call, f->output[i]), *to = n->output[i];
    Onnx__NodeProto *copy = onnx_node_write("Identity", "", "", &from, 1, &to, 1, NULL, 0, in->arena);
    if (!copy || !push(in, copies, copy)) return false;
  }
  return true;
}

static bool inline_nodes(Inliner *in, Call *call, Onnx__NodeProto *const *from, size_t count, Nodes *to);

static bool inline_call(Inliner *in, Function *f, const Onnx__NodeProto *n, Nodes *to) {
  Call call = {.function = f, .node = n, .names = graph_new(in->arena, in->error), .again = f->called};
  Nodes copies = {0};
  if (f->open || in->depth == DEPTH_MAX)
    return error_set(in->error, STATUS_INVALID_MODEL, onnx_node_title(n),
                     f->open ? "function '%.64s' calls itself" : "function '%.64s' is called deeper than we follow",
                     f->from->name),
           false;
  if (!call.names || !check_imports(in, f)) return false;
  f->open = f->called = true;
  in->depth++;
  bool good = bind_ports(in, &call, &copies) && inline_nodes(in, &call, f->from->node, f->from->n_node, to);
  for (int i = 0; good && i < copies.count; i++) good = push(in, to, copies.items[i]);
  in->depth--;
  f->open = false;
  return good;
}

static bool inline_nodes(Inliner *in, Call *call, Onnx__NodeProto *const *from, size_t count, Nodes *to) {
  for (size_t i = 0; i < count; i++) {
    Function *f = function_of(in, from[i]);
    Onnx__NodeProto *n = copy_node(in, call, from[i]);
    if (!n || !(f ? inline_call(in, f, n, to) : push(in, to, n))) return false;
  }
  return true;
}

/* A subgraph: its names are as unique as those around it, and so are the names that replace them. */
static bool inline_graph(Inliner *in, Call *call, const Onnx__GraphProto *from, Onnx__GraphProto *to) {
  Nodes nodes = {0};
  size_t bytes = 0;
  for (size_t i = 0; i < from->n_initializer; i++) bytes += tensor_bytes(from->initializer[i]);
  if (!count(in, call, from->n_initializer + from->n_input + from->n_output, bytes)) return false;
  *to = *from;
  to->n_value_info = 0;
  to->initializer = ARENA_ARRAY(in->arena, Onnx__TensorProto *, from->n_initializer);
  to->input = ARENA_ARRAY(in->arena, Onnx__ValueInfoProto *, from->n_input);
  to->output = ARENA_ARRAY(in->arena, Onnx__ValueInfoProto *, from->n_output);
  if (!to->initializer || !to->input || !to->output) return out_of_memory(in);
#define RENAMED(list, Type)                                                                                            \
  for (size_t i = 0; i < from->n_##list; i++) {                                                                        \
    if (!(to->list[i] = ARENA_NEW(in->arena, Type))) return out_of_memory(in);                                         \
    *to->list[i] = *from->list[i];                                                                                     \
    if (!(to->list[i]->name = outside(in, call, from->list[i]->name))) return false;                                   \
  }
  RENAMED(initializer, Onnx__TensorProto)
  RENAMED(input, Onnx__ValueInfoProto)
  RENAMED(output, Onnx__ValueInfoProto)
#undef RENAMED
  if (!inline_nodes(in, call, from->node, from->n_node, &nodes)) return false;
  to->node = nodes.items;
  to->n_node = (size_t)nodes.count;
  return true;
}

static bool list_functions(Inliner *in) {
  if (!(in->functions = ARENA_ARRAY(in->arena, Function, in->model->n_functions))) return out_of_memory(in);
  for (size_t i = 0; i < in->model->n_functions; i++) {
    const Onnx__FunctionProto *f = in->model->functions[i];
    if (!*or_empty(f->name))
      return error_set(in->error, STATUS_INVALID_MODEL, NULL, "function %zu of the model has no name", i), false;
    const char *key = key_of(in, f->domain, f->name, f->overload);
    if (!key) return out_of_memory(in);
    if (graph_find(in->table, key))
      return error_set(in->error, STATUS_INVALID_MODEL, NULL, "the model defines function '%.64s' twice", f->name),
             false;
    if (!graph_value(in->table, key, DTYPE_NONE, NULL, VALUE_NODE)) return false;
    in->functions[i].from = f;
  }
  return true;
}

Status onnx_functions_inline(const Onnx__ModelProto *model, Arena *arena, Error *error) {
  Inliner in = {(Onnx__ModelProto *)(uintptr_t)model,
                NULL,
                graph_new(arena, error),
                graph_new(arena, error),
                arena,
                error,
                0,
                0,
                0};
  Nodes nodes = {0};
  in.bytes -= arena->used_bytes;
  if (!in.table || !in.names || !list_functions(&in) || !note_graph(&in, model->graph)) return error->status;
  if (!inline_nodes(&in, &(Call){0}, model->graph->node, model->graph->n_node, &nodes))
    return out_of_memory(&in), error->status;
  model->graph->node = nodes.items;
  model->graph->n_node = (size_t)nodes.count;
  return onnx_model_check(model, error);
}
