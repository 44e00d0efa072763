/* Plan: views and in-place writes share bytes; all other values go into the lowest gap of the arena, in the better of
 * two orders. */
#include "program/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ops/accumulator.h"
#include "ops/ops.h"
#include "graph/work.h"
#include "part.h"
#include "graph/bad_index.h"
#include "program/bad_index.h"
#include "variant.h"

enum {
  ALIGNMENT = 64,
  FITTED_MAX = 1 << 13, /* spans that look for the best gap among all before them; the smaller ones of a graph with more
                           go by classes */
};

/* A range of bytes to place: a value's, or a step's scratch. */
typedef struct Span {
  size_t bytes, offset;
  int first, last;
  Value *value; /* NULL for scratch */
  Node *node;   /* whose scratch */
} Span;

/* True if the plan must place it: it is computed, and not written straight into the session's state. */
static bool is_placed_here(const Value *root) { return root->kind == VALUE_NODE && !root->in_state; }

/* Views and updates use the bytes of one of their inputs. */
static void share_roots(Graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    v->root = v;
    v->first = v->last = -1;
    v->in_state = false;
    if (v->kind == VALUE_NODE) v->data = NULL, v->ahead = false;
  }
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    if (n->op->flags & OP_VIEW && n->out[0]) n->out[0]->root = value_root(n->in[0]);
    if (!(n->op->flags & OP_UPDATES)) continue;
    for (int k = 0; k < n->out_count && k < UPDATES_MAX; k++)
      if (n->out[k] && n->op->updates[k] > 0) n->out[k]->root = value_root(n->in[n->op->updates[k]]);
  }
}

static void find_lives(Graph *g) {
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    for (int k = 0; k < n->in_count; k++)
      if (n->in[k] && (!n->op->reads || n->op->reads(n, k))) value_root(n->in[k])->last = i;
    for (int k = 0; k < n->out_count; k++) {
      if (!n->out[k]) continue;
      Value *root = value_root(n->out[k]);
      if (root->first < 0) root->first = i;
      root->last = i;
    }
  }
  for (int i = 0; i < g->output_count; i++) value_root(g->outputs[i])->last = g->node_count;
}

/* The product that makes the gradient adds it to the accumulator by itself. */
static bool is_added_already(const Node *n) {
  const Node *from = n->in[1]->kind == VALUE_NODE ? n->in[1]->producer : NULL;
  return from && from->op == &op_gemm && has_in(from, 2) && from->in[2] == n->in[0];
}

/* A gradient that overwrites its accumulator, or is already added to it, is computed right there. Returns whether the
 * node has nothing left to do. */
static bool place_gradient(Node *n) {
  Value *root = value_root(n->in[1]);
  if (!is_placed_here(root) || value_bytes(root) != value_bytes(n->in[0])) return false;
  root->data = n->in[0]->data;
  root->in_state = true;
  return true;
}

static bool may_overwrite(const Node *n, int k, int step) {
  Value *v = n->in[k], *root = value_root(v), *out = n->out[0];
  if (!is_placed_here(root) || root->last != step || v->type != out->type || value_bytes(root) != value_bytes(out))
    return false;
  if (!shape_equal(&v->shape, &out->shape)) return false;
  for (int i = 0; i < n->in_count; i++) /* the same bytes read in another shape would be overwritten under the reader */
    if (i != k && n->in[i] && value_root(n->in[i]) == root &&
        (n->op->flags & OP_ALONE || !shape_equal(&n->in[i]->shape, &out->shape)))
      return false;
  return true;
}

static void share_in_place(Node *n, int step) {
  Value *out = n->out_count ? n->out[0] : NULL;
  if (!n->op->in_place || !out || out->root != out || !is_placed_here(out)) return;
  for (int k = 0; k < n->in_count; k++) {
    if (!(n->op->in_place >> k & 1) || !n->in[k] || !may_overwrite(n, k, step)) continue;
    Value *root = value_root(n->in[k]);
    root->last = out->last;
    out->root = root;
    return;
  }
}

/* ---- offsets ---- */

static int larger_first(const void *a, const void *b) {
  const Span *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : 0;
}

static int longer_first(const void *a, const void *b) {
  const Span *x = a, *y = b;
  int lives[] = {x->last - x->first, y->last - y->first};
  return lives[0] != lives[1] ? (lives[0] < lives[1] ? 1 : -1) : larger_first(a, b);
}

/* Placed spans by offset; `order` holds indices. Finds the lowest gap that fits among those alive at the same time. */
static bool place_spans(Span *spans, int count, int *order, size_t *arena_bytes) {
  int placed = 0;
  *arena_bytes = 0;
  for (int i = 0; i < count; i++) {
    Span *s = &spans[i];
    size_t at = 0, end;
    for (int k = 0; k < placed; k++) {
      const Span *other = &spans[order[k]];
      if (other->last < s->first || s->last < other->first) continue;
      if (other->offset >= at + s->bytes) break; /* a gap before it; at + bytes cannot wrap: both passed size_add */
      if (other->offset + other->bytes > at) at = other->offset + other->bytes;
    }
    if (!size_add(at, s->bytes, &end) || end > PTRDIFF_MAX) return false;
    s->offset = at;
    if (end > *arena_bytes) *arena_bytes = end;
    int k = placed++;
    for (; k > 0 && spans[order[k - 1]].offset > at; k--) order[k] = order[k - 1];
    order[k] = i;
  }
  return true;
}

static bool add_span(Span *spans, int *count, Span s) {
  size_t padded;
  if (!size_add(s.bytes, ALIGNMENT - 1, &padded)) return false;
  s.bytes = padded & ~(size_t)(ALIGNMENT - 1);
  if (s.bytes == 0) s.bytes = ALIGNMENT;
  spans[(*count)++] = s;
  return true;
}

static bool collect_spans(Graph *g, Span *spans, int *count) {
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    if (v->root != v || !is_placed_here(v) || v->first < 0) continue;
    if (!add_span(spans, count, (Span){.bytes = value_bytes(v), .first = v->first, .last = v->last, .value = v}))
      return false;
  }
  for (int i = 0; i < g->node_count; i++)
    if (g->nodes[i]->scratch_bytes &&
        !add_span(spans, count,
                  (Span){.bytes = g->nodes[i]->scratch_bytes, .first = i, .last = i, .node = g->nodes[i]}))
      return false;
  return true;
}

/* ---- many spans ----
 * The largest come first and find their gaps; the rest, by far the most and the smallest, share bytes within classes of
 * about one size, above them. */

enum { CLASSES = 64 * 8 };

/* Eight classes to a power of two, so at most an eighth is lost. */
static int class_of(size_t units) {
  int power = 0;
  while (units >> power > 15) power++;
  return power ? 8 * power + (int)(units >> power) + ((units & (((size_t)1 << power) - 1)) != 0) : (int)units;
}

static size_t class_units(int class) { return class < 16 ? (size_t)class : (size_t)(8 + class % 8) << (class / 8 - 1); }

static int earlier_first(const void *a, const void *b) {
  const Span *x = a, *y = b;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : larger_first(a, b);
}

/* Each takes the bytes of one of its class whose life is over, or new ones. `ends[t]` is a list, by `next`, of spans
 * whose last step is t. */
static bool place_by_class(Span *spans, int count, int steps, Arena *scratch, size_t *arena_bytes) {
  int *ends = ARENA_ARRAY(scratch, int, steps + 1), *next = ARENA_ARRAY(scratch, int, count), free_of[CLASSES] = {0},
      t = 0;
  if (!ends || !next) return false;
  qsort(spans, (size_t)count, sizeof *spans, earlier_first);
  for (int i = 0; i < count; i++) {
    Span *s = &spans[i];
    for (; t < s->first; t++)
      for (int k = ends[t], after; k; k = after) {
        int class = class_of(spans[k - 1].bytes / ALIGNMENT);
        after = next[k - 1];
        next[k - 1] = free_of[class];
        free_of[class] = k;
      }
    int class = class_of(s->bytes / ALIGNMENT), from = free_of[class];
    s->offset = from ? spans[from - 1].offset : *arena_bytes;
    if (from) free_of[class] = next[from - 1];
    else if (!size_add(*arena_bytes, class_units(class) * ALIGNMENT, arena_bytes) || *arena_bytes > PTRDIFF_MAX)
      return false;
    int last = s->last < steps ? s->last : steps;
    next[i] = ends[last];
    ends[last] = i + 1;
  }
  return true;
}

OPTIONAL(many_spans, place_by_class); /* without it, many take longer */

/* ---- both orders ---- */

static size_t lower_bound(const Span *spans, int count, int steps, size_t *alive, int *peak) {
  size_t most = 0, now = 0;
  for (int i = 0; i < count; i++) {
    alive[spans[i].first] += spans[i].bytes;
    if (spans[i].last + 1 < steps) alive[spans[i].last + 1] -= spans[i].bytes; /* wraps, and back */
  }
  for (int t = 0; t < steps; t++)
    if ((now += alive[t]) > most) most = now, *peak = t;
  return most;
}

/* The `fitted` first spans by life or by size, whichever needs less. */
static bool place_best(Span *spans, int fitted, int *order, size_t *arena_bytes) {
  size_t by_size, by_life;
  qsort(spans, (size_t)fitted, sizeof *spans, longer_first);
  bool fits = place_spans(spans, fitted, order, &by_life);
  qsort(spans, (size_t)fitted, sizeof *spans, larger_first);
  bool fits_by_size = place_spans(spans, fitted, order, &by_size);
  *arena_bytes = by_size;
  if (!fits || (fits_by_size && by_life >= by_size)) return fits_by_size;
  qsort(spans, (size_t)fitted, sizeof *spans, longer_first);
  return place_spans(spans, fitted, order, arena_bytes);
}

static Status place_in(Graph *g, Program *out, Arena *scratch) {
  int most = g->value_count + g->node_count, count = 0;
  Span *spans = ARENA_ARRAY(scratch, Span, most);
  int *order = ARENA_ARRAY(scratch, int, most);
  size_t *alive = ARENA_ARRAY(scratch, size_t, g->node_count);
  if (!spans || !order || !alive) return error_memory(g->error, "for the memory plan");
  bool fits = collect_spans(g, spans, &count);
  if (count > FITTED_MAX) variant_see(VARIANT_many_nodes);
  int fitted = count < FITTED_MAX || !part_many_spans ? count : FITTED_MAX;
  if (fits && count > fitted) qsort(spans, (size_t)count, sizeof *spans, larger_first);
  fits = fits && place_best(spans, fitted, order, &out->arena_bytes);
  if (fits && count > fitted)
    fits = part_many_spans(spans + fitted, count - fitted, g->node_count, scratch, &out->arena_bytes);
  if (!fits)
    return error_set(g->error, STATUS_OUT_OF_MEMORY, NULL,
                     "a step on these shapes needs more memory than a machine of this kind can address");
  out->lower_bound_bytes = lower_bound(spans, count, g->node_count, alive, &out->peak_step);
  for (int i = 0; i < count; i++) {
    if (spans[i].value) spans[i].value->offset = spans[i].offset;
    else spans[i].node->scratch = (void *)(uintptr_t)spans[i].offset; /* becomes an address in plan_resolve */
  }
  return STATUS_OK;
}

static Status place(Graph *g, Program *out) {
  Arena scratch = {.temporary = true};
  Status status = place_in(g, out, &scratch);
  arena_free(&scratch);
  return status;
}

Status plan(Graph *g, bool overwrite_gradients, Program *out) {
  *out = (Program){.graph = g, .steps = ARENA_ARRAY(g->frame, Node *, g->node_count)};
  if (!out->steps) return error_memory(g->error, "for the memory plan");
  share_roots(g);
  find_lives(g);
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    bool idle = op_is_accumulator(n) && (overwrite_gradients || is_added_already(n)) && place_gradient(n);
    idle |= n->op->flags & OP_VIEW && n->out[0]->root != n->out[0];
    if (n->op == &op_yield) out->yield = n, out->yield_step = out->step_count;
    else if (!idle) out->steps[out->step_count++] = n;
  }
  if (!out->yield) out->yield_step = out->step_count;
  for (int i = 0; i < g->node_count; i++) share_in_place(g->nodes[i], i);
  return place(g, out);
}

Status plan_check_work(const Program *p, double limit, double *spent) {
  const Node *heaviest = NULL;
  double most = 0;
  for (int i = 0; i < p->step_count; i++) {
    double work = work_of(p->steps[i]);
    *spent += work;
    if (work > most) most = work, heaviest = p->steps[i];
  }
  if (limit <= 0 || !heaviest || *spent <= limit) return STATUS_OK;
  return node_fail(heaviest, STATUS_TOO_MUCH_WORK,
                   "it takes about %.1e of the run's %.1e multiply-adds on these shapes, maxWork allows %.1e", most,
                   *spent, limit);
}

void plan_resolve(Program *p, void *base) {
  Graph *g = p->graph;
  ptrdiff_t moved = (char *)base - (char *)p->base;
  for (int i = 0; i < g->node_count; i++) {
    Node *n = g->nodes[i];
    n->scratch = n->scratch_bytes ? (void *)((uintptr_t)n->scratch + (uintptr_t)moved) : base;
  }
  p->base = base;
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    Value *root = value_root(v);
    if (v != root) v->data = NULL;
    else if (v->kind == VALUE_NODE && v->first >= 0 && !v->in_state) v->data = (char *)base + v->offset;
  }
  for (int i = 0; i < g->value_count; i++) g->values[i]->data = value_root(g->values[i])->data;
}

static bool gives_up(void) { return threads_stopped() || bad_index_first()->node; }

static Status leave(const Program *p) {
  bool stopped = threads_stopped(); /* in the last step, perhaps */
  threads_watch(NULL);
  TRY(bad_index_check(p));
  return stopped ? error_set(p->graph->error, STATUS_ABORTED, NULL, "the run was stopped; no parameter was changed")
                 : STATUS_OK;
}

/* The node without outputs that nobody needs, where it can do without. */
static Node *lean_node(Node *n, const bool *needed) {
  bool all = true;
  for (int k = 0; k < n->out_count; k++) all &= !n->out[k] || needed[n->out[k]->index];
  if (all || !(n->op->flags & OP_PICKS)) return n;
  Node *lean = ARENA_NEW(n->graph->arena, Node);
  Value **out = ARENA_ARRAY(n->graph->arena, Value *, n->out_count);
  if (!lean || !out) return NULL;
  *lean = *n;
  lean->out = out;
  for (int k = 0; k < n->out_count; k++) out[k] = n->out[k] && needed[n->out[k]->index] ? n->out[k] : NULL;
  return lean;
}

static bool is_needed(const Node *n, const bool *needed) {
  for (int k = 0; k < n->out_count; k++)
    if (n->out[k] && needed[n->out[k]->index]) return true;
  return n->op->flags & OP_UPDATES;
}

Status plan_make_lean(Program *p, int count) {
  Graph *g = p->graph;
  bool *needed = ARENA_ARRAY(g->arena, bool, g->value_count);
  p->lean = ARENA_ARRAY(g->arena, Node *, p->step_count);
  if (!needed || !p->lean) return error_memory(g->error, "for the memory plan");
  for (int i = count; i < g->output_count; i++) needed[g->outputs[i]->index] = true;
  for (int i = g->node_count - 1, step = p->step_count; i >= 0; i--) {
    Node *n = g->nodes[i];
    bool kept = is_needed(n, needed);
    for (int k = 0; kept && k < n->in_count; k++)
      if (n->in[k]) needed[n->in[k]->index] = true;
    if (step > 0 && p->steps[step - 1] == n) p->lean[--step] = kept ? lean_node(n, needed) : NULL;
  }
  return g->arena->failed ? STATUS_OUT_OF_MEMORY : STATUS_OK;
}

/* NULL where there is nothing to do. */
static const Node *step_of(const Program *p, StepRange range, int i) {
  if (!range.lean) return p->steps[i];
  if (p->lean[i]) p->lean[i]->scratch = p->steps[i]->scratch;
  return p->lean[i];
}

Status plan_execute(const Program *p, StepRange range, const ThreadsStop *stop) {
  threads_watch(stop);
  for (int i = range.first; i < range.end && !gives_up(); i++) {
    const Node *n = step_of(p, range, i);
    if (n) n->op->run(n);
  }
  return leave(p);
}

Status plan_execute_timed(Program *p, StepRange range, const ThreadsStop *stop, const Clock *clock) {
  if (!p->ms && !(p->ms = ARENA_ARRAY(p->graph->arena, double, p->step_count)))
    return error_memory(p->graph->error, "for the times of nodes");
  threads_watch(stop);
  double since = clock->now(clock->context);
  for (int i = range.first; i < range.end && !gives_up(); i++) {
    const Node *n = step_of(p, range, i);
    if (!n) continue;
    n->op->run(n);
    double now = clock->now(clock->context);
    p->ms[i] += now - since;
    since = now;
  }
  p->timed_runs += range.end == p->step_count;
  Status status = leave(p);
  if (status != STATUS_OK) plan_forget_times(p);
  return status;
}

void plan_forget_times(Program *p) {
  if (p->ms) memset(p->ms, 0, sizeof *p->ms * (size_t)p->step_count);
  p->timed_runs = 0;
}
