/* Duplicate: two nodes of the same operator, attributes and inputs compute the same; readers of the second read the first. Small constants that
 * are equal count as one. */
#include <string.h>

#include "passes/rewrite.h"

enum { CONSTANT_BYTES_MAX = 256 };

static size_t value_bytes(const Value *v) { return shape_elements(&v->shape) * dtype_bytes(v->type); }

static bool constants_equal(const Value *a, const Value *b) {
  if (a->kind != VALUE_CONSTANT || b->kind != VALUE_CONSTANT || a->type != b->type || !shape_equal(&a->shape, &b->shape)) return false;
  return value_bytes(a) <= CONSTANT_BYTES_MAX && memcmp(a->data, b->data, value_bytes(a)) == 0;
}

static bool same_value(const Value *a, const Value *b) { return a == b || (a && b && constants_equal(a, b)); }

static bool same_attr(const Attr *a, const Attr *b) {
  if (a->kind != b->kind || a->count != b->count || strcmp(a->name, b->name) != 0) return false;
  switch (a->kind) {
    case ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case ATTR_INT: return a->i == b->i;
    case ATTR_STRING: return strcmp(a->s, b->s) == 0;
    case ATTR_INTS: return memcmp(a->ints, b->ints, (size_t)a->count * sizeof *a->ints) == 0;
    default: return false;
  }
}

static bool same_node(const Node *a, const Node *b) {
  if (a->op != b->op || a->version != b->version || a->in_count != b->in_count || a->out_count != b->out_count || a->attr_count != b->attr_count)
    return false;
  for (int i = 0; i < a->in_count; i++)
    if (!same_value(a->in[i], b->in[i])) return false;
  for (int i = 0; i < a->out_count; i++)
    if (!a->out[i] && b->out[i]) return false;
  for (int i = 0; i < a->attr_count; i++)
    if (!same_attr(&a->attrs[i], &b->attrs[i])) return false;
  return true;
}

static bool is_output(const Graph *g, const Value *v) {
  for (int i = 0; i < g->output_count; i++)
    if (g->outputs[i] == v) return true;
  return false;
}

/* An output of the graph keeps the node that writes it. */
static bool merge(Graph *g, Node *n, Node *first) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && is_output(g, n->out[i])) return false;
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) rewrite_value(n->out[i], first->out[i]);
  return true;
}

static bool rewrite(Graph *g, Node *n) {
  if (n->op->flags & (OP_RANDOM | OP_UPDATES) || n->out_count == 0) return false;
  for (int i = g->node_count - 1; i >= 0; i--)
    if (g->nodes[i]->op == n->op && same_node(n, g->nodes[i])) return merge(g, n, g->nodes[i]);
  return false;
}

Status pass_duplicate(Graph *g) { return rewrite_each(g, rewrite); }
