/* Recompute: finds the node whose outputs take most memory across the peak, and copies it behind the peak, together
 * with the views on it and the cheap nodes before it whose values would otherwise have to be kept. */
#include "program/recompute.h"

#include <string.h>

#include "graph/op.h"

enum { DEPTH = 4 }; /* cheap nodes in a row */

static bool is_view(const Value *v) { return v->kind == VALUE_NODE && v->producer && v->producer->op->flags & OP_VIEW; }

static Value *base_of(Value *v) {
  while (is_view(v)) v = v->producer->in[0];
  return v;
}

static bool is_saved(const Node *n, int i) { return n->op->recompute && n->op->recompute->saved >> i & 1; }

/* True if another operator can compute output 0 again, because its inputs have been saved. */
static bool has_recompute(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (is_saved(n, i) && !has_out(n, i)) return false;
  return n->op->recompute;
}

/* The number of outputs that are computed again: the first ones. */
static int again_count(const Node *n) { return has_recompute(n) ? 1 : n->out_count; }

/* Cheap to compute again, and without effects. */
static bool is_cheap(const Node *n) {
  return has_recompute(n) || !(n->op->flags & (OP_COSTLY | OP_UPDATES | OP_RANDOM | OP_VIEW));
}

/* When a value is used; a use of a view counts for the value that it shows. */
typedef struct Life {
  int first, last; /* steps that touch it */
  int next;    /* the first step after the peak that does: 0 when none does, -1 when it is touched at the peak itself */
  Value *copy; /* a copy to read behind the peak */
} Life;

/* One attempt to need fewer bytes at a step. */
typedef struct Peak {
  Graph *graph;
  int step;
  Life *lives; /* indexed by value */
  int life_count, life_capacity;
  Arena scratch;
} Peak;

static Life *life_of(const Peak *p, const Value *v) { return &p->lives[v->index]; }

/* Adds lives for the graph's values that have none yet. */
static bool add_lives(Peak *p) {
  for (; p->life_count < p->graph->value_count; p->life_count++) {
    Life *lives = arena_list_grow(&p->scratch, p->lives, p->life_count, &p->life_capacity, sizeof *lives);
    if (!lives) return false;
    (p->lives = lives)[p->life_count] = (Life){0};
  }
  return true;
}

static bool find_lives(Peak *p) {
  Graph *g = p->graph;
  if (!add_lives(p)) return false;
  for (int i = 0; i < g->value_count; i++) p->lives[i].first = p->lives[i].last = -1;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    for (int k = 0; k < n->in_count + n->out_count; k++) {
      Value *v = k < n->in_count ? n->in[k] : n->out[k - n->in_count];
      if (!v) continue;
      Life *life = life_of(p, base_of(v));
      if (life->first < 0) life->first = i;
      life->last = i;
      if (i == p->step) life->next = -1;
      else if (i > p->step && life->next == 0) life->next = i;
    }
  }
  for (int i = 0; i < g->output_count; i++) life_of(p, base_of(g->outputs[i]))->last = g->node_count;
  return true;
}

/* True if v has bytes that lie idle across the peak. */
static bool is_idle(const Peak *p, const Value *v) {
  if (!v || v->kind != VALUE_NODE || is_view(v) || v->in_state) return false;
  const Life *life = life_of(p, v);
  return life->first < p->step && life->next > p->step && life->last < p->graph->node_count;
}

static int next_read(const Peak *p, const Node *n) {
  int next = p->graph->node_count;
  for (int i = 0; i < again_count(n); i++)
    if (is_idle(p, n->out[i]) && life_of(p, n->out[i])->next < next) next = life_of(p, n->out[i])->next;
  return next;
}

/* Bytes that must be kept longer than they are now so that v is there at step `next`: its own, or fewer if cheap nodes
 * compute it again. */
static double cost_at(const Peak *p, Value *v, int next, int depth) {
  Value *base = base_of(v);
  if (base->kind != VALUE_NODE || life_of(p, base)->last >= next) return 0;
  double own = (double)value_bytes(base), inputs = 0;
  const Node *n = base->producer;
  if (!depth || !is_cheap(n)) return own;
  for (int i = 0; i < n->in_count && inputs < own; i++)
    if (n->in[i]) inputs += cost_at(p, n->in[i], next, depth - 1);
  return inputs < own ? inputs : own;
}

/* Bytes by which the peak shrinks if n's outputs are computed again behind it. */
static double gain_of(const Peak *p, const Node *n) {
  double gain = 0;
  int next = next_read(p, n);
  for (int i = 0; i < again_count(n); i++)
    if (is_idle(p, n->out[i])) gain += (double)value_bytes(n->out[i]);
  for (int i = 0; gain > 0 && i < n->in_count; i++)
    if (n->in[i]) gain -= cost_at(p, n->in[i], next, DEPTH);
  return gain;
}

static Node *heaviest(const Peak *p) {
  Node *best = NULL;
  double most = 0;
  for (int i = 0; i < p->step; i++) {
    Node *n = p->graph->nodes[i];
    double gain = is_cheap(n) ? gain_of(p, n) : 0;
    if (gain > most) most = gain, best = n;
  }
  return best;
}

/* ---- copies ---- */

typedef struct Copies {
  Peak *peak;
  const Node *target;
  int next; /* the step before which they are inserted */
  Node **nodes;
  int count;
} Copies;

/* Like n, its inputs not yet set. */
static Node *copy_node(Peak *p, const Node *n) {
  Graph *g = p->graph;
  Node *copy = ARENA_NEW(g->arena, Node);
  if (!copy) return NULL;
  *copy = *n;
  if (has_recompute(n)) copy->op = n->op->recompute->op, copy->out_count = 1;
  copy->in = ARENA_ARRAY(g->arena, Value *, n->in_count);
  copy->out = ARENA_ARRAY(g->arena, Value *, n->out_count);
  if (!copy->in || !copy->out) return NULL;
  for (int i = 0; i < copy->out_count; i++) {
    if (!n->out[i]) continue;
    if (!(copy->out[i] = graph_value(g, NULL, n->out[i]->type, &n->out[i]->shape, VALUE_NODE))) return NULL;
    copy->out[i]->producer = copy;
  }
  return add_lives(p) ? copy : NULL;
}

static Value *input_of(const Node *n, int i) { return has_recompute(n) && is_saved(n, i) ? n->out[i] : n->in[i]; }

/* The value to read instead of v at step `next`: a copy if v shows one of the target's outputs or would have to be kept
 * for it, else v itself. */
static Value *stand_in(Copies *c, Value *v, int depth) {
  if (!v || v->kind != VALUE_NODE) return v;
  Value *copied = life_of(c->peak, v)->copy;
  if (copied) return copied;
  Node *n = v->producer;
  Value *under = is_view(v) ? stand_in(c, n->in[0], depth) : NULL;
  double own = (double)value_bytes(base_of(v));
  if (has_recompute(n) && v != n->out[0]) return v;
  bool wanted = under ? under != n->in[0]
                      : n == c->target || (is_cheap(n) && depth && cost_at(c->peak, v, c->next, depth) < own &&
                                           life_of(c->peak, v)->last < c->next);
  Node *copy = wanted ? copy_node(c->peak, n) : NULL;
  if (!copy) return v;
  for (int i = 0; i < n->in_count; i++)
    copy->in[i] = under && i == 0 ? under : stand_in(c, input_of(n, i), depth - (n != c->target && !under));
  for (int i = 0; i < copy->out_count; i++)
    if (n->out[i]) life_of(c->peak, n->out[i])->copy = copy->out[i];
  c->nodes[c->count++] = copy;
  return life_of(c->peak, v)->copy;
}

/* For nodes, with an eighth more for the next attempts: a list for each would take what they gain. */
static bool make_room(Graph *g, int more) {
  int count = g->node_count, wanted = count + more;
  if (wanted <= g->node_capacity) return true;
  Node **nodes = ARENA_ARRAY(g->arena, Node *, wanted + wanted / 8);
  if (!nodes) return false;
  memcpy(nodes, g->nodes, (size_t)count * sizeof *nodes);
  g->nodes = nodes;
  g->node_capacity = wanted + wanted / 8;
  return true;
}

/* Lets the readers from step `next` on read the copies. */
static bool compute_again(Peak *p, const Node *n, int next) {
  Graph *g = p->graph;
  int count = g->node_count;
  Copies c = {.peak = p, .target = n, .next = next, .nodes = ARENA_ARRAY(&p->scratch, Node *, count)};
  if (!c.nodes) return false;
  for (int i = next; i < count; i++)
    for (int k = 0; k < g->nodes[i]->in_count; k++) g->nodes[i]->in[k] = stand_in(&c, g->nodes[i]->in[k], DEPTH);
  if (g->arena->failed || !make_room(g, c.count)) return false;
  memmove(g->nodes + next + c.count, g->nodes + next, (size_t)(count - next) * sizeof *g->nodes);
  memcpy(g->nodes + next, c.nodes, (size_t)c.count * sizeof *g->nodes);
  g->node_count += c.count;
  return true;
}

bool recompute_at_peak(Program *program) {
  Peak p = {.graph = program->graph, .step = program->peak_step};
  const Node *n = find_lives(&p) ? heaviest(&p) : NULL;
  bool changed = n && compute_again(&p, n, next_read(&p, n));
  arena_free(&p.scratch);
  return changed;
}
