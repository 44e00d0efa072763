/* Recompute: the node whose outputs weigh most over the peak, and copies behind the peak of it, of the views on it, and of the cheap nodes
 * before it whose values would else have to wait. */
#include "run/recompute.h"

#include "ops/ops.h"

enum { DEPTH = 4 }; /* of cheap nodes in a row */

static size_t value_bytes(const Value *v) { return shape_elements(&v->shape) * dtype_bytes(v->type); }

static bool is_view(const Value *v) { return v->kind == VALUE_NODE && v->producer && v->producer->op->flags & OP_VIEW; }

static Value *base_of(Value *v) {
  while (is_view(v)) v = v->producer->in[0];
  return v;
}

/* y of BatchNormInternal can be had again from the statistics that it saved for its gradient. */
static bool is_batch_norm(const Node *n) { return n->op == &op_batch_norm_internal && has_out(n, 3) && has_out(n, 4); }

/* Outputs that are made again: the first so many. */
static int again_count(const Node *n) { return is_batch_norm(n) ? 1 : n->out_count; }

/* And without effects. */
static bool is_cheap(const Node *n) { return is_batch_norm(n) || !(n->op->flags & (OP_COSTLY | OP_UPDATES | OP_RANDOM | OP_VIEW)); }

/* first and last of each value, views counted for what they show; in `readers` the first step after the peak that reads it: 0 when none does, -1
 * when it is touched at the peak itself. */
static void find_lives(Graph *g, int peak) {
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    v->first = v->last = -1;
    v->readers = 0;
    v->twin = NULL;
  }
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    for (int k = 0; k < n->in_count + n->out_count; k++) {
      Value *v = k < n->in_count ? n->in[k] : n->out[k - n->in_count];
      if (!v) continue;
      v = base_of(v);
      if (v->first < 0) v->first = i;
      v->last = i;
      if (i == peak) v->readers = -1;
      else if (i > peak && v->readers == 0) v->readers = i;
    }
  }
  for (int i = 0; i < g->output_count; i++) base_of(g->outputs[i])->last = g->node_count;
}

/* v has bytes that lie idle over the peak. */
static bool is_idle(const Graph *g, const Value *v, int peak) {
  return v && v->kind == VALUE_NODE && !is_view(v) && !v->in_state && v->first < peak && v->readers > peak && v->last < g->node_count;
}

static int next_read(const Graph *g, const Node *n, int peak) {
  int next = g->node_count;
  for (int i = 0; i < again_count(n); i++)
    if (is_idle(g, n->out[i], peak) && n->out[i]->readers < next) next = n->out[i]->readers;
  return next;
}

/* Bytes that must wait longer than they do for v to be there at step `next`: its own, or less where cheap nodes make it again. */
static double cost_at(Value *v, int next, int depth) {
  Value *base = base_of(v);
  if (base->kind != VALUE_NODE || base->last >= next) return 0;
  double own = (double)value_bytes(base), inputs = 0;
  const Node *n = base->producer;
  if (!depth || !is_cheap(n)) return own;
  for (int i = 0; i < n->in_count && inputs < own; i++)
    if (n->in[i]) inputs += cost_at(n->in[i], next, depth - 1);
  return inputs < own ? inputs : own;
}

/* Bytes that the peak loses when n's outputs are computed again behind it. */
static double gain_of(const Graph *g, const Node *n, int peak) {
  double gain = 0;
  int next = next_read(g, n, peak);
  for (int i = 0; i < again_count(n); i++)
    if (is_idle(g, n->out[i], peak)) gain += (double)value_bytes(n->out[i]);
  for (int i = 0; gain > 0 && i < n->in_count; i++)
    if (n->in[i]) gain -= cost_at(n->in[i], next, DEPTH);
  return gain;
}

static Node *heaviest(const Graph *g, int peak) {
  Node *best = NULL;
  double most = 0;
  for (int i = 0; i < peak; i++) {
    double gain = is_cheap(g->nodes[i]) ? gain_of(g, g->nodes[i], peak) : 0;
    if (gain > most) most = gain, best = g->nodes[i];
  }
  return best;
}

/* ---- copies ---- */

typedef struct Copies {
  Graph *graph;
  const Node *target;
  int next; /* the step they stand in front of */
  Node **nodes;
  int count;
} Copies;

/* Like n, its inputs not yet set. */
static Node *copy_node(Graph *g, const Node *n) {
  Node *copy = ARENA_NEW(g->arena, Node);
  if (!copy) return NULL;
  *copy = *n;
  if (is_batch_norm(n)) copy->op = &op_batch_norm_again, copy->out_count = again_count(n);
  copy->in = ARENA_ARRAY(g->arena, Value *, n->in_count);
  copy->out = ARENA_ARRAY(g->arena, Value *, n->out_count);
  if (!copy->in || !copy->out) return NULL;
  for (int i = 0; i < copy->out_count; i++) {
    if (!n->out[i]) continue;
    if (!(copy->out[i] = graph_value(g, NULL, n->out[i]->type, &n->out[i]->shape, VALUE_NODE))) return NULL;
    copy->out[i]->producer = copy;
  }
  return copy;
}

static Value *input_of(const Node *n, int i) { return is_batch_norm(n) && i >= 3 ? n->out[i] : n->in[i]; }

/* The value to read instead of v at step `next`: a copy where v shows the target's outputs or would have to wait for it, else v itself. */
static Value *again(Copies *c, Value *v, int depth) {
  if (!v || v->twin || v->kind != VALUE_NODE) return v && v->twin ? v->twin : v;
  Node *n = v->producer;
  Value *under = is_view(v) ? again(c, n->in[0], depth) : NULL;
  double own = (double)value_bytes(base_of(v));
  if (is_batch_norm(n) && v != n->out[0]) return v;
  bool wanted = under ? under != n->in[0] : n == c->target || (is_cheap(n) && depth && cost_at(v, c->next, depth) < own && v->last < c->next);
  Node *copy = wanted ? copy_node(c->graph, n) : NULL;
  if (!copy) return v;
  for (int i = 0; i < n->in_count; i++) copy->in[i] = under && i == 0 ? under : again(c, input_of(n, i), depth - (n != c->target && !under));
  for (int i = 0; i < copy->out_count; i++)
    if (n->out[i]) n->out[i]->twin = copy->out[i];
  c->nodes[c->count++] = copy;
  return v->twin;
}

/* Readers from step `next` on read the copies. */
static bool compute_again(Graph *g, const Node *n, int next) {
  int count = g->node_count, at = 0;
  Copies c = {.graph = g, .target = n, .next = next, .nodes = ARENA_ARRAY(g->arena, Node *, count)};
  if (!c.nodes) return false;
  for (int i = next; i < count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++) g->nodes[i]->in[k] = again(&c, g->nodes[i]->in[k], DEPTH);
  Node **nodes = ARENA_ARRAY(g->arena, Node *, count + c.count);
  if (!nodes || g->arena->failed) return false;
  for (int i = 0; i < next; i++) nodes[at++] = g->nodes[i];
  for (int i = 0; i < c.count; i++) nodes[at++] = c.nodes[i];
  for (int i = next; i < count; i++) nodes[at++] = g->nodes[i];
  g->nodes = nodes;
  g->node_count = g->node_capacity = at;
  return true;
}

bool recompute_at_peak(Program *p) {
  Graph *g = p->graph;
  find_lives(g, p->peak_step);
  Node *n = heaviest(g, p->peak_step);
  return n && compute_again(g, n, next_read(g, n, p->peak_step));
}
