/* Merged: values that PyTorch's exporter by dynamo computes once for several layers, because these began equal, as the
 * copies of nn.TransformerDecoder, which all read the same memory. Each layer has its own again, of its own parameters.
 *
 *   layers.0.attn   y ─ MatMul layers.0.attn.k.weight ─┬─▶ MatMul     ─▶  y ─ MatMul layers.0.attn.k.weight ─▶ MatMul
 *   layers.1.attn                                      └─▶ MatMul         y ─ MatMul layers.1.attn.k.weight ─▶ MatMul
 */
#include <ctype.h>
#include <string.h>

#include "graph/op.h"
#include "onnx/parts.h"

enum { DEPTH_MAX = 200 };
typedef struct Splitter {
  OnnxReader *r;
  const char *from, *to;  /* modules that are equal but for numbers */
  size_t from_length;     /* length of `from`, after which names go on */
  Value **made;           /* for `to`, by the index of the value for `from` */
  int value_count, depth; /* values that `made` has room for */
} Splitter;

static Status out_of_memory(const OnnxReader *r) {
  return error_memory(r->error, "for layers that the exporter merged");
}

/* The module of a node; of one without notes, that of its first reader. */
static const char *module_of(const Graph *g, const Node *n) {
  for (int i = 0; i < g->node_count && !n->module; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++)
      for (int j = 0; j < n->out_count; j++)
        if (g->nodes[i]->module && n->out[j] && g->nodes[i]->in[k] == n->out[j]) return g->nodes[i]->module;
  return n->module;
}

/* The length of the part of module path a that equals b except for numbers: a itself or a module around it; 0 if there
 * is none, or if they are equal. */
static size_t length_alike(const char *a, const char *b) {
  const char *at = a;
  bool other = false;
  while (*at && *b) {
    const char *x = at, *y = b;
    while (isdigit((unsigned char)*at)) at++;
    while (isdigit((unsigned char)*b)) b++;
    if ((at == x) != (b == y)) return 0;
    other |= at - x != b - y || memcmp(x, y, (size_t)(at - x)) != 0;
    if (at == x && *at++ != *b++) return 0;
  }
  return !*b && (!*at || *at == '.') && other ? (size_t)(at - a) : 0;
}

static bool is_within(const char *module, const char *whole, size_t length) {
  return module && strncmp(module, whole, length) == 0 && (!module[length] || module[length] == '.');
}

/* In the other layer a node of that kind reads it at the same place. */
static bool has_other(const Graph *g, const Node *n, int at, const char *module, size_t length) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *other = g->nodes[i];
    if (other->op == n->op && other->in_count > at && other->in[at] == n->in[at] && other->module &&
        strlen(other->module) == length && is_within(other->module, module, length))
      return true;
  }
  return false;
}

/* ---- parameters ---- */

/* v itself, where the other layer has none of that name, or one with other numbers. */
static Value *parameter_for(Splitter *s, Value *v) {
  const Placeholder *p = onnx_exporter_placeholder(s->r, v);
  if (!p || p->target.length <= s->from_length || !is_within(p->target.at, s->from, s->from_length)) return v;
  const char *name = arena_print(s->r->arena, "%s%.*s", s->to, (int)(p->target.length - s->from_length),
                                 p->target.at + s->from_length);
  const Placeholder *own = name ? onnx_exporter_target(s->r, name) : NULL;
  return own ? onnx_undo_parameter(s->r, v, own) : name ? v : NULL;
}

static bool is_uniform(const Value *v) {
  const char *x = v->data;
  size_t bytes = value_bytes(v), step = dtype_bytes(v->type);
  return x && (bytes <= step || memcmp(x, x + step, bytes - step) == 0);
}

/* A part of a parameter has no notes: of several zeros or ones it reads the first, but its readers are in one module.
 * */
static Status restore_parameter(OnnxReader *r, Node *n) {
  for (int k = 0; !n->module && k < n->in_count; k++) {
    bool merged = n->in[k] && n->in[k]->initializer && is_uniform(n->in[k]);
    const Placeholder *p = merged ? onnx_exporter_placeholder(r, n->in[k]) : NULL;
    const char *module = p ? module_of(r->graph, n) : NULL;
    size_t length = p ? p->target.length : 0;
    while (length && p->target.at[length - 1] != '.') length--;
    if (!module || !length || is_within(p->target.at, module, strlen(module))) continue;
    const char *name = arena_print(r->arena, "%s.%.*s", module, (int)(p->target.length - length),
                                   p->target.at + length);
    const Placeholder *own = name ? onnx_exporter_target(r, name) : NULL;
    if (own) n->in[k] = onnx_undo_parameter(r, n->in[k], own);
    if (!name || !n->in[k]) return out_of_memory(r);
  }
  return STATUS_OK;
}

/* ---- values ---- */

static Value *value_for(Splitter *s, Value *v);

static Value *copy_node(Splitter *s, const Node *n, Value **in, const Value *wanted) {
  Value *found = NULL;
  const char **names = ARENA_ARRAY(s->r->arena, const char *, n->out_count);
  for (int i = 0; names && i < n->out_count; i++) names[i] = n->out[i] ? NULL : "";
  s->r->graph->module = s->to;
  Node *copy = names
                 ? graph_node(s->r->graph, n->op, NULL, in, n->in_count, names, n->out_count, n->attrs, n->attr_count)
                 : NULL;
  for (int i = 0; copy && i < n->out_count; i++) {
    if (n->out[i] && n->out[i]->index < s->value_count) s->made[n->out[i]->index] = copy->out[i];
    if (n->out[i] == wanted) found = copy->out[i];
  }
  return found;
}

static Value *compute_for(Splitter *s, Value *v) {
  const Node *n = v->producer;
  Value **in = ARENA_ARRAY(s->r->arena, Value *, n->in_count);
  bool changed = false;
  for (int k = 0; in && k < n->in_count; k++) {
    if (n->in[k] && !(in[k] = value_for(s, n->in[k]))) return NULL;
    changed |= in[k] != n->in[k];
  }
  return !in ? NULL : changed ? copy_node(s, n, in, v) : v;
}

/* The value that replaces v in the other layer: v itself if it contains no parameter of the layer. NULL without memory.
 */
static Value *value_for(Splitter *s, Value *v) {
  if (v->kind == VALUE_CONSTANT) return v->initializer ? parameter_for(s, v) : v;
  if (!v->producer || v->index >= s->value_count || v->producer->op->flags & OP_SUBGRAPHS || s->depth >= DEPTH_MAX)
    return v;
  if (s->made[v->index]) return s->made[v->index];
  if (!is_within(module_of(s->r->graph, v->producer), s->from, s->from_length)) return v;
  s->depth++;
  Value *made = compute_for(s, v);
  s->depth--;
  return s->made[v->index] = made;
}

/* ---- the walk ---- */

static bool begin(Splitter *s, const char *from, size_t length, const char *to) {
  bool same = s->made && s->from_length == length && strncmp(s->from, from, length) == 0 && strcmp(s->to, to) == 0;
  s->from = from, s->from_length = length, s->to = to;
  if (!same) {
    s->value_count = s->r->graph->value_count;
    s->made = ARENA_ARRAY(s->r->arena, Value *, s->value_count);
  }
  return s->made;
}

/* The nodes from `first` on go before the one at `at`. */
static Status move_before(OnnxReader *r, int at, int first) {
  Node **nodes = r->graph->nodes, **moved = ARENA_ARRAY(r->arena, Node *, first - at);
  int count = r->graph->node_count - first;
  if (!moved) return out_of_memory(r);
  memcpy(moved, nodes + at, (size_t)(first - at) * sizeof *moved);
  memmove(nodes + at, nodes + first, (size_t)count * sizeof *moved);
  memcpy(nodes + at + count, moved, (size_t)(first - at) * sizeof *moved);
  return STATUS_OK;
}

static Status split(Splitter *s, Node *n) {
  Graph *g = s->r->graph;
  for (int k = 0; k < n->in_count; k++) {
    const char *from = n->in[k] && n->in[k]->producer ? module_of(g, n->in[k]->producer) : NULL;
    size_t length = from ? length_alike(from, n->module) : 0;
    if (!length || !has_other(g, n, k, from, length)) continue;
    if (!begin(s, from, length, n->module)) return out_of_memory(s->r);
    if (!(n->in[k] = value_for(s, n->in[k]))) return g->error->status ? g->error->status : out_of_memory(s->r);
  }
  return STATUS_OK;
}

Status onnx_split_merged(OnnxReader *r) {
  Graph *g = r->graph;
  Splitter s = {.r = r};
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    int count = g->node_count;
    TRY(restore_parameter(r, n));
    if (n->module) TRY(split(&s, n));
    if (g->node_count > count) TRY(move_before(r, i, count));
    i += g->node_count - count;
  }
  return STATUS_OK;
}
