/* Modules: which nodes are layers of their own, and what they were called. */
#include "train/modules.h"

#include <ctype.h>
#include <string.h>

#include "ops/ops.h"
#include "text_builder.h"

typedef struct Finder {
  Graph *g;
  const NameList *names;
  Arena *arena;
  bool *alone; /* a value that follows from constants alone */
  bool *ahead; /* a linear layer computes with what follows from it */
  Modules *out;
} Finder;

/* ---- names ---- */

static bool ends_with(const char *s, size_t length, const char *end) {
  size_t count = strlen(end);
  return length > count && memcmp(s + length - count, end, count) == 0;
}

/* True if the part is the one that an operator adds to the name of its module: MatMul, MatMul_3, MatMul_Q4 … */
static bool is_own_part(const char *part, size_t length, const char *op) {
  size_t count = strlen(op);
  return length >= count && memcmp(part, op, count) == 0 && (length == count || part[count] == '_');
}

/* The module of a path, without the leading slash and the node's own part; NULL if there is none. A part may begin with
 * the one before it, which is the same module then: /layer1/layer1.0/conv1/Conv is layer1.0.conv1. */
static const char *name_of_path(const Node *n, Arena *arena) {
  const char *end = strrchr(n->name, '/'), *at = n->name[0] == '/' ? n->name + 1 : n->name;
  if (!end || end <= at) return NULL;
  TextBuilder name = text_new(arena);
  while (at < end) {
    size_t length = strcspn(at, "/");
    const char *next = at + length + 1;
    bool again = next < end && strncmp(next, at, length) == 0 && next[length] == '.';
    if (!again) {
      if (name.length) text_put(&name, ".");
      const char *part = arena_print(arena, "%.*s", (int)length, at);
      text_put(&name, part ? part : "");
    }
    at = next;
  }
  return name.text;
}

bool module_is_numbered(const char *name) {
  const char *digits = strncmp(name, "val_", 4) == 0 ? name + 4 : "x";
  while (isdigit((unsigned char)*digits)) digits++;
  return strncmp(name, "onnx::", 6) == 0 || !*digits;
}

/* NULL where it has a number for a name. */
static const char *parameter_of(const Value *weight) {
  const char *name = weight->computed_from ? weight->computed_from : weight->name;
  return module_is_numbered(name) ? NULL : name;
}

/* Without `.weight` at its end. */
static size_t stem_length(const char *name) {
  static const char *const ends[] = {".weight",    ".qweight",   ".weight_quantized",
                                     ".weight_Q4", ".weight_Q8", ".weight_float16"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends_with(name, length, ends[i])) return length - strlen(ends[i]);
  return length;
}

static const char *name_of_weight(const Node *n, const Value *weight, Arena *arena) {
  const char *name = parameter_of(weight);
  if (!name) return NULL;
  size_t length = stem_length(name);
  size_t last = length;
  while (last && name[last - 1] != '.') last--;
  if (last > 1 && is_own_part(name + last, length - last, n->op->name)) length = last - 1;
  return arena_print(arena, "%.*s", (int)length, name);
}

/* Given by moduleNames: "name=module". */
static const char *name_given(const Finder *f, const char *name) {
  size_t length = strlen(name);
  for (int i = 0; i < f->names->count; i++)
    if (strncmp(f->names->names[i], name, length) == 0 && f->names->names[i][length] == '=')
      return f->names->names[i] + length + 1;
  return NULL;
}

const char *module_of_node(const Node *n, Arena *arena) { return n->module ? n->module : name_of_path(n, arena); }

static const char *name_of(const Finder *f, const Module *m) {
  const char *name = name_given(f, m->node->name);
  if (!name) name = name_given(f, m->weight->name);
  if (!name) name = module_of_node(m->node, f->arena);
  if (!name) name = name_of_weight(m->node, m->weight, f->arena);
  return name ? name : m->node->name;
}

const char *module_of_parameter(const char *name, Arena *arena) {
  const char *dot = strrchr(name, '.');
  return arena_print(arena, "%.*s", dot ? (int)(dot - name) : 0, name);
}

bool module_matches(const char *pattern, const char *name) {
  for (const char *at = name; at; at = strchr(at, '.'), at = at ? at + 1 : NULL)
    if (name_matches(pattern, at)) return true;
  return false;
}

bool module_matches_any(const NameList *patterns, const char *name) {
  for (int i = 0; i < patterns->count; i++)
    if (module_matches(patterns->names[i], name)) return true;
  return false;
}

/* ---- layers ---- */

static bool is_matrix(const Value *v) {
  return v->shape.rank == 2 && dim_is_number(v->shape.dim[0]) && dim_is_number(v->shape.dim[1]);
}

static bool read_product(const Node *n, Module *m) {
  const Value *w = n->in[1];
  bool turned = node_int(n, "transB", 0) != 0;
  if (!is_matrix(w) || node_int(n, "transA", 0) || node_float(n, "alpha", 1) != 1 || n->in[0]->shape.rank < 2)
    return false;
  m->in = w->shape.dim[turned];
  m->out = w->shape.dim[!turned];
  return true;
}

static bool read_quantized(const Node *n, Module *m) {
  m->in = node_int(n, "K", 0);
  m->out = node_int(n, "N", 0);
  return n->in[0]->shape.rank >= 2;
}

static bool read_conv(const Node *n, Module *m) {
  const Shape *w = &n->in[1]->shape;
  m->kind = MODULE_CONV;
  for (int i = 0; i < w->rank; i++)
    if (!dim_is_number(w->dim[i])) return false;
  m->in = w->dim[1];
  m->out = w->dim[0];
  return w->rank > 2 && node_int(n, "group", 1) == 1;
}

static bool read_embedding(const Node *n, Module *m) {
  const Value *table = n->in[0];
  m->kind = MODULE_EMBEDDING;
  if (!is_matrix(table) || node_int(n, "axis", 0)) return false;
  m->in = table->shape.dim[0];
  m->out = table->shape.dim[1];
  return true;
}

static int weight_input(const Node *n) { return n->op == &op_gather ? 0 : 1; }

/* Its weight follows from constants, what it computes with does not; floats. */
static bool read_layer(const Finder *f, Node *n, Module *m) {
  *m = (Module){.node = n, .kind = MODULE_LINEAR};
  bool product = n->op == &op_gemm || n->op == &op_mat_mul || n->op == &op_fused_mat_mul;
  bool quantized = n->op == &op_mat_mul_n_bits;
  if (n->expanded_from || !(product || quantized || n->op == &op_conv || n->op == &op_gather)) return false;
  int at = weight_input(n);
  if (!f->alone[n->in[at]->index] || f->alone[n->in[!at]->index] || n->out[0]->type != DTYPE_FLOAT32) return false;
  return product           ? read_product(n, m)
       : quantized         ? read_quantized(n, m)
       : n->op == &op_conv ? read_conv(n, m)
                           : read_embedding(n, m);
}

/* Finds the constant from which a weight is made by casts, transposes and the like. */
static void find_weight(Module *m) {
  const Value *v = m->node->in[weight_input(m->node)];
  m->in_first = m->kind == MODULE_LINEAR && !node_int(m->node, "transB", 0);
  for (; v->producer && v->producer->in_count && v->producer->in[0]; v = v->producer->in[0])
    m->in_first ^= v->producer->op == &op_transpose;
  m->weight = v;
}

/* ---- the walk ---- */

static void find_alone(Finder *f) {
  for (int i = 0; i < f->g->value_count; i++) f->alone[i] = f->g->values[i]->kind == VALUE_CONSTANT;
  for (int i = 0; i < f->g->node_count; i++) {
    const Node *n = f->g->nodes[i];
    bool all = n->in_count && !(n->op->flags & OP_RANDOM);
    for (int k = 0; k < n->in_count; k++) all &= !n->in[k] || f->alone[n->in[k]->index];
    for (int k = 0; k < n->out_count; k++)
      if (n->out[k]) f->alone[n->out[k]->index] = all;
  }
}

static bool is_ahead(const Finder *f, const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && f->ahead[n->out[i]->index]) return true;
  return false;
}

static void find_last(Finder *f) {
  for (int i = f->g->node_count - 1; i >= 0; i--) {
    Module m;
    Node *n = f->g->nodes[i];
    bool ahead = is_ahead(f, n) || (read_layer(f, n, &m) && m.kind == MODULE_LINEAR);
    for (int k = 0; k < n->in_count; k++)
      if (n->in[k]) f->ahead[n->in[k]->index] |= ahead;
  }
}

static Status add(Finder *f, const Module *m) {
  Module *items = arena_list_grow(f->arena, f->out->items, f->out->count, &f->out->capacity, sizeof *items);
  if (!items) return STATUS_OUT_OF_MEMORY;
  f->out->items = items;
  items[f->out->count++] = *m;
  return m->name ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

/* ---- several layers of one weight, several weights of one name ---- */

static bool is_part(const Module *m) {
  return shape_elements(&m->node->in[weight_input(m->node)]->shape) < shape_elements(&m->weight->shape);
}

bool modules_share(const Module *a, const Module *b) {
  if (a->weight != b->weight || a->kind != b->kind) return false;
  if (a->on_weight) return true;
  bool same = a->node->in[weight_input(a->node)] == b->node->in[weight_input(b->node)];
  return a->in == b->in && a->out == b->out && a->in_first == b->in_first && (same || !(is_part(a) || is_part(b)));
}

static bool is_read_in_ways(const Finder *f, const Module *m) {
  if (m->kind != MODULE_LINEAR || m->weight->type != DTYPE_FLOAT32 || !is_matrix(m->weight)) return false;
  for (int i = 0; i < f->out->count; i++) {
    const Module *other = &f->out->items[i];
    if (other->weight == m->weight && other->kind == m->kind && !modules_share(m, other)) return true;
  }
  return is_part(m);
}

/* Their adapters would have one name. */
static bool is_clash(const Module *a, const Module *b) {
  return (a->kind == MODULE_EMBEDDING) == (b->kind == MODULE_EMBEDDING) && !modules_share(a, b) &&
         strcmp(a->name, b->name) == 0;
}

/* The rest of the weight's name after the module's last part: for a.self_attn and a.self_attn.in_proj_weight it is
 * `in_proj_weight`; NULL if there is none. */
static const char *rest_of(const Module *m) {
  const char *dot = strrchr(m->name, '.'), *last = dot ? dot + 1 : m->name, *rest = NULL;
  size_t length = strlen(last);
  for (const char *at = parameter_of(m->weight); at; at = strchr(at, '.'), at = at ? at + 1 : NULL)
    if (strncmp(at, last, length) == 0 && at[length] == '.') rest = at + length + 1;
  return rest;
}

/* The weight is no parameter of a module within. */
static bool is_own(const Module *m) {
  const char *rest = rest_of(m);
  return !rest || !strchr(rest, '.');
}

/* True if another module has the same name and m must give it up. m keeps it only if its weight is its own and the
 * others are parameters of modules within it. */
static bool is_to_rename(const Finder *f, const Module *m) {
  bool clash = false, others = false;
  for (int i = 0; i < f->out->count; i++) {
    const Module *other = &f->out->items[i];
    if (!is_clash(m, other)) continue;
    clash = true;
    others |= is_own(other);
  }
  return clash && (others || !is_own(m));
}

/* self_attn.out_proj.weight ─▶ self_attn.out_proj; self_attn.k_proj_weight stays; else self_attn.MatMul_1 */
static Status rename_apart(Finder *f, Module *m) {
  const char *rest = rest_of(m), *slash = strrchr(m->node->name, '/'), *stem = m->name;
  if (!rest) rest = slash ? slash + 1 : m->node->name;
  m->within = stem;
  m->name = arena_print(f->arena, "%s.%.*s", stem, (int)stem_length(rest), rest);
  for (int i = 0, number = 0; m->name && i < f->out->count; i++)
    if (is_clash(m, &f->out->items[i])) {
      m->name = arena_print(f->arena, "%s.%.*s_%d", stem, (int)stem_length(rest), rest, ++number);
      i = -1;
    }
  return m->name ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

static Status tell_apart(Finder *f) {
  int count = f->out->count;
  Module *items = f->out->items;
  bool *marked = ARENA_ARRAY(f->arena, bool, count);
  if (!marked) return STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < count; i++) marked[i] = is_read_in_ways(f, &items[i]);
  for (int i = 0; i < count; i++) items[i].on_weight = marked[i];
  for (int i = 0; i < count; i++) marked[i] = is_to_rename(f, &items[i]);
  for (int i = 0; i < count; i++)
    if (marked[i]) TRY(rename_apart(f, &items[i]));
  return STATUS_OK;
}

static Status find(Finder *f) {
  for (int i = 0; i < f->g->node_count; i++) {
    Module m;
    if (!read_layer(f, f->g->nodes[i], &m)) continue;
    find_weight(&m);
    m.last = m.kind == MODULE_LINEAR && !is_ahead(f, m.node);
    m.name = name_of(f, &m);
    m.turned = m.kind == MODULE_LINEAR && module_is_numbered(m.weight->name) && !node_int(m.node, "transB", 0);
    TRY(add(f, &m));
  }
  return tell_apart(f);
}

Status modules_find(Graph *g, const NameList *names, Arena *arena, Modules *out) {
  *out = (Modules){0};
  Finder f = {.g = g,
              .names = names,
              .arena = arena,
              .alone = ARENA_ARRAY(arena, bool, g->value_count),
              .ahead = ARENA_ARRAY(arena, bool, g->value_count),
              .out = out};
  if (f.alone && f.ahead) {
    find_alone(&f);
    find_last(&f);
  }
  if (f.alone && f.ahead && find(&f) == STATUS_OK) return STATUS_OK;
  return error_memory(g->error, "for the names of modules");
}
