/* Weights: forward it is found what follows from constants alone and what depends on a weight, backward who reads it.
 */
#include "train/weights.h"

#include <math.h>

#include "ops/ops.h"
#include "train/mode.h"

const char *read_as_name(ReadAs as) {
  static const char *const names[] = {"weight", "bias", "scale", "statistic", "operand"};
  return names[as];
}

typedef struct Reader {
  Graph *m;
  Arena *arena;
  Weights *w;
  bool *alone, *deep;        /* a value that follows from constants alone; one that depends on a weight */
  const Node *expanded_from; /* that the last node is a part of */
  bool speaks;
} Reader;

bool weights_says(const Op *op) { return op->weights | op->biases | op->scales; }

static bool is_bit(unsigned mask, int i) { return mask == ~0u || (i < 32 && mask >> i & 1); }

/* The other inputs of a view or Slice are its shape, axes or ends, which may depend on what is fed. */
static bool all_alone(const Reader *r, const Node *n) {
  bool all = !(n->op->flags & OP_RANDOM), moves = n->op->flags & OP_VIEW || n->op == &op_slice;
  for (int i = 0; i < (moves ? 1 : n->in_count); i++) all &= !n->in[i] || r->alone[n->in[i]->index];
  return all;
}

/* The expanded node that n is a part of, which is the reader then, unless it only prepares a weight. Its parts are
 * consecutive. */
static Node *speaker(Reader *r, const Node *n) {
  if (r->expanded_from != n->expanded_from) r->speaks = n->expanded_from && !all_alone(r, n->expanded_from);
  r->expanded_from = n->expanded_from;
  return r->speaks ? n->expanded_from : NULL;
}

static bool is_single(const Value *v) {
  size_t count;
  return shape_count(&v->shape, &count) && count == 1;
}

static const Value *before_views(const Value *v) {
  while (v->producer && (v->producer->op->flags & OP_VIEW || v->producer->op == &op_cast)) v = v->producer->in[0];
  return v;
}

/* True if p, which is broadcast to x, is a vector along one axis of it, or a vector in the shape of several. */
static bool is_along_axis(const Value *of, const Shape *x) {
  const Shape *p = &of->shape;
  int long_axes = 0, extra = x->rank - p->rank;
  bool fits = p->rank > 0 && extra >= 0, single = false;
  bool vector = before_views(of)->shape.rank == 1 || (of->computed_from && !of->computed_changed);
  for (int i = 0; fits && i < p->rank; i++) {
    Dim own = p->dim[i], other = x->dim[extra + i];
    long_axes += own != 1;
    fits = own == 1 || own == other || dim_is_symbol(other) || (vector && other == 1);
    single |= other == 1 && (i > 0 || extra > 0);
  }
  return fits && (long_axes == 1 || (long_axes > 1 && vector) || (long_axes == 0 && single));
}

/* A product whose features are laid out along several axes, as the heads of an attention, has a bias of these. */
static bool is_bias_of_heads(const Reader *r, const Shape *p, const Value *x) {
  const Node *n = before_views(x)->producer;
  if (!n || n == x->producer || n->op != &op_mat_mul || !r->alone[n->in[1]->index]) return false;
  const Shape *w = &n->in[1]->shape;
  size_t count;
  return p->rank < x->shape.rank && shape_count(p, &count) && w->dim[w->rank - 1] == (Dim)count;
}

static ReadAs as_of(const Reader *r, const Node *n, int i) {
  const Op *op = n->op;
  const Value *v = n->in[i];
  if (mode_is_statistic(n, i)) return READ_STATISTIC;
  if (is_bit(op->weights, i)) return v->shape.rank > 1 ? READ_WEIGHT : READ_OPERAND;
  if (!is_bit(op->biases | op->scales, i) || v->shape.rank == 0) return READ_OPERAND;
  if (op->flags & OP_ALONG_AXIS) {
    const Value *x = n->in[!i];
    if (r->alone[x->index] || !r->deep[x->index]) return READ_OPERAND;
    if (!is_along_axis(v, &x->shape) && !(is_bit(op->biases, i) && is_bias_of_heads(r, &v->shape, x)))
      return READ_OPERAND;
  }
  return is_bit(op->biases, i) ? READ_BIAS : READ_SCALE;
}

/* A number or vector that is added to or multiplies what depends on no weight, such as the mean of what is fed. */
static bool is_early(const Reader *r, const Node *n, int i) {
  const Value *x = n->op->flags & OP_ALONG_AXIS ? n->in[!i] : NULL;
  return x && !r->deep[x->index] && (is_single(n->in[i]) || is_along_axis(n->in[i], &x->shape));
}

static bool reads_learned(const Reader *r, const Node *n) {
  for (int i = 0; i < n->in_count; i++) {
    const Value *v = n->in[i];
    if (!v || !r->alone[v->index]) continue;
    if (read_is_learned(as_of(r, n, i)) || (v->note == NOTE_ATTRIBUTE && !is_early(r, n, i))) return true;
  }
  return false;
}

/* A row of a table is an activation, even where the row is always the same. */
static bool is_table_look_up(const Node *n) { return n->op == &op_gather && n->in[0]->shape.rank > 1; }

/* x / y of two activations, or 1 / √y, is what a normalization in pieces scales next. */
static bool normalizes(const Reader *r, const Node *n) {
  const Value *y = n->op == &op_div ? n->in[1] : NULL;
  return y && !r->alone[y->index] &&
         (!r->alone[n->in[0]->index] || (before_views(y)->producer && before_views(y)->producer->op == &op_sqrt));
}

/* Forward. */
static void place(Reader *r, const Node *n) {
  const Node *whole = speaker(r, n);
  bool alone = all_alone(r, n) && !is_table_look_up(n), deep = reads_learned(r, whole ? whole : n);
  for (int i = 0; i < n->in_count; i++) deep |= n->in[i] && r->deep[n->in[i]->index];
  deep |= normalizes(r, n);
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) r->alone[n->out[i]->index] = alone, r->deep[n->out[i]->index] = deep && !alone;
}

/* In the order of the nodes, the last one first. */
static void add_reading(Reader *r, const Value *v, Reading reading) {
  Readings *to = &r->w->of[v->index];
  if (to->count == READINGS_MAX) return;
  Reading *items = arena_list_grow(r->arena, to->items, to->count, &to->capacity, sizeof *items);
  if (!items) return;
  int at = to->count++;
  for (; at > 0 && items[at - 1].node->stream < reading.node->stream; at--) items[at] = items[at - 1];
  items[at] = reading;
  to->items = items;
}

static bool passes(const Node *n, int i) {
  const Value *v = n->in[i];
  bool more = false; /* floats beside a single number, as the ε of a norm */
  if (!n->op->grad || n->op->flags & OP_REPEATS) return false;
  if (n->op->flags & OP_STEPS ? i > 0 : !dtype_is_float(v->type)) return false;
  for (int k = 0; k < n->in_count; k++)
    more |= k != i && n->in[k] && dtype_is_float(n->in[k]->type) && !is_single(n->in[k]);
  return !more || !is_single(v);
}

static void pass_on(Reader *r, Node *n, int i) {
  for (int k = 0; k < n->out_count; k++)
    for (int j = 0; n->out[k] && j < r->w->of[n->out[k]->index].count; j++) {
      Reading reading = r->w->of[n->out[k]->index].items[j];
      reading.first = n;
      add_reading(r, n->in[i], reading);
    }
}

static void read_input(Reader *r, Node *n, int i) {
  add_reading(r, n->in[i], (Reading){n->expanded_from ? n->expanded_from : n, n, as_of(r, n, i), is_early(r, n, i)});
}

static void read_inputs(Reader *r, Node *n) {
  bool through = all_alone(r, n) && !is_table_look_up(n);
  for (int i = 0; i < n->in_count; i++) {
    if (!n->in[i] || !r->alone[n->in[i]->index]) continue;
    if (through && passes(n, i)) pass_on(r, n, i);
    else read_input(r, n, i);
  }
}

/* Backward: the readers of an output come before its node. */
static void read_nodes(Reader *r) {
  Node *before = NULL;
  for (int i = r->m->node_count - 1; i >= 0; i--) {
    Node *n = r->m->nodes[i], *whole = speaker(r, n);
    if (!whole) read_inputs(r, n);
    else if (whole != before) read_inputs(r, whole);
    before = whole;
  }
}

bool weights_infinite(const Value *v) {
  const float *x = v->data;
  size_t count = shape_elements(&v->shape), finite = 0;
  for (size_t i = 0; i < count; i++) finite += isfinite(x[i]) != 0;
  return finite < count;
}

Status weights_read(Graph *m, Arena *arena, Weights *out) {
  int count = m->value_count;
  Reader r = {m, arena, out, .alone = ARENA_ARRAY(arena, bool, count), .deep = ARENA_ARRAY(arena, bool, count)};
  *out = (Weights){.of = ARENA_ARRAY(arena, Readings, count), .infinite = ARENA_ARRAY(arena, bool, count)};
  for (int i = 0; i < count && !arena->failed; i++) {
    r.alone[i] = m->values[i]->kind == VALUE_CONSTANT;
    const Value *v = m->values[i];
    out->infinite[i] = mode_is_parameter(v) && !v->quantized && weights_infinite(v);
  }
  for (int i = 0; i < m->node_count && !arena->failed; i++) place(&r, m->nodes[i]);
  r.expanded_from = NULL;
  if (!arena->failed) read_nodes(&r);
  return arena->failed ? error_memory(m->error, "for the parameters") : STATUS_OK;
}

const Reading *weights_learned(const Weights *w, const Value *v) {
  const Readings *all = &w->of[v->index];
  for (int i = 0; i < all->count; i++)
    if (read_is_learned(all->items[i].as)) return &all->items[i];
  return NULL;
}

bool weights_may_be_learned(const Weights *w, const Value *v) {
  const Readings *all = &w->of[v->index];
  bool may = false;
  for (int i = 0; i < all->count; i++) may |= all->items[i].node->op->grad && !all->items[i].early;
  return may && v->note == NOTE_ATTRIBUTE;
}
