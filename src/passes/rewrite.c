/* Rewrite: nodes offered in order, dead ones dropped. */
#include "passes/rewrite.h"

static void count_readers(Graph *g) {
  for (int i = 0; i < g->value_count; i++)
    g->values[i]->readers = 0, g->values[i]->instead = NULL, g->values[i]->fetched = false;
  for (int i = 0; i < g->node_count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++)
      if (g->nodes[i]->in[k]) g->nodes[i]->in[k]->readers++;
  for (int i = 0; i < g->output_count; i++) g->outputs[i]->readers++, g->outputs[i]->fetched = true;
}

static bool is_dead(const Node *n) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && n->out[i]->readers > 0) return false;
  return true;
}

void rewrite_drop_dead(Graph *g) {
  count_readers(g);
  for (int i = g->node_count - 1; i >= 0; i--) {
    Node *n = g->nodes[i];
    bool dead = is_dead(n);
    for (int k = 0; dead && k < n->in_count; k++)
      if (n->in[k]) n->in[k]->readers--;
    for (int k = dead ? 0 : 1; k < n->out_count; k++)
      if (n->out[k] && n->out[k]->readers == 0 && !(n->op->flags & OP_UPDATES)) n->out[k] = NULL;
  }
  int kept = 0;
  for (int i = 0; i < g->node_count; i++)
    if (!is_dead(g->nodes[i])) g->nodes[kept++] = g->nodes[i];
  g->node_count = kept;
}

static Status keep(Graph *g, Node *n) {
  g->nodes = arena_list_grow(g->frame, g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes);
  if (!g->nodes) return g->node_count = g->node_capacity = 0, error_memory(g->error, "while planning");
  g->nodes[g->node_count++] = n;
  return STATUS_OK;
}

/* A chain of replaced values gets shorter each time somebody walks it. */
static Value *last_instead(Value *v) {
  for (; v->instead; v = v->instead)
    if (v->instead->instead) v->instead = v->instead->instead;
  return v;
}

Status rewrite_each_with(Graph *g, RewriteNodeWith *rewrite, void *context) {
  Node **nodes = g->nodes;
  int count = g->node_count;
  count_readers(g);
  g->nodes = NULL;
  g->node_count = g->node_capacity = 0;
  for (int i = 0; i < count; i++) {
    Node *n = nodes[i];
    for (int k = 0; k < n->in_count; k++)
      if (n->in[k]) n->in[k] = last_instead(n->in[k]);
    if (!rewrite(g, n, context)) TRY(keep(g, n));
    TRY(g->error->status);
  }
  rewrite_drop_dead(g);
  return STATUS_OK;
}

static bool rewrite_alone(Graph *g, Node *n, void *rewrite) { return (*(RewriteNode **)rewrite)(g, n); }

Status rewrite_each(Graph *g, RewriteNode *rewrite) { return rewrite_each_with(g, rewrite_alone, &rewrite); }

bool rewrite_as(Node *n, Value *made) {
  if (!made) return false;
  Node *by = made->producer;
  made->producer = NULL;
  by->name = n->name;
  by->out[0] = n->out[0];
  n->out[0]->producer = by;
  return true;
}

bool rewrite_value(Value *v, Value *by) {
  if (v->fetched) return false;
  by->readers += v->readers;
  v->instead = by;
  return true;
}

bool rewrite_number(const Value *v, float *number) {
  size_t count;
  if (!v || v->kind != VALUE_CONSTANT || v->type != DTYPE_FLOAT32 || !shape_count(&v->shape, &count) || count != 1)
    return false;
  *number = *(const float *)v->data;
  return true;
}

Value *rewrite_reshape(Graph *g, Value *v, const Shape *shape) {
  if (!v || shape_equal(&v->shape, shape)) return v;
  return emit_with(g, "Reshape", ATTRS(attr_of_int("allowzero", 1)), v, emit_ints(g, shape->dim, shape->rank));
}
