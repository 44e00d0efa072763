/* Untie. Where TorchScript's exporter puts an Identity of another constant in the place of one that it computed, the
 * two may have been one, of a module that is called twice. Several they were
 *
 * - if their elements are all equal, as zeros and ones, unless what they belong to is the same:
 * - or if they are of numbered copies of a layer (`layers.0`, `layers.1`).
 *
 * A module that is called twice has one path (`/fc/Gemm`, `/fc_1/Gemm`), or where paths are lacking, the same weight
 * before or after it. If that is asked for, readers of one kind are separated by the same rules without an Identity.
 *
 * Running statistics are separated whatever is asked for: a step writes each of them. */
#include "model/untie.h"

#include <ctype.h>
#include <string.h>

#include "ops/ops.h"
#include "train/mode.h"

static size_t scope_length(const char *name) {
  const char *end = strrchr(name, '/');
  return end ? (size_t)(end - name) : 0;
}

/* Past `_12` at the end of a part of a path: which call of the module it was. */
static const char *past_call(const char *at, const char *end) {
  const char *p = at;
  if (p == end || *p != '_') return at;
  for (p++; p < end && isdigit((unsigned char)*p); p++) {
  }
  return p > at + 1 && (p == end || *p == '/') ? p : at;
}

static bool is_same_path(const char *a, const char *b) {
  const char *end_a = a + scope_length(a), *end_b = b + scope_length(b);
  for (;; a++, b++) {
    a = past_call(a, end_a), b = past_call(b, end_b);
    if (a == end_a || b == end_b) return a == end_a && b == end_b;
    if (*a != *b) return false;
  }
}

/* Equal but for numbers. */
static bool are_numbered(const char *a, const char *b) {
  const char *end_a = a + scope_length(a), *end_b = b + scope_length(b);
  bool any = a < end_a;
  while (a < end_a && b < end_b) {
    bool digit = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
    if (!digit && *a++ != *b++) return false;
    while (digit && a < end_a && isdigit((unsigned char)*a)) a++;
    while (digit && b < end_b && isdigit((unsigned char)*b)) b++;
  }
  return any && a == end_a && b == end_b;
}

static bool is_constant(const Value *v) {
  const float *x = v->data;
  size_t count = shape_elements(&v->shape), equal = 0;
  for (size_t i = 0; i < count; i++) equal += x[i] == x[0];
  return equal == count;
}

/* ---- what stands before and after ---- */

static const Value *source_of(const Value *v) {
  while (v->producer && v->producer->op == &op_identity) v = v->producer->in[0];
  return v;
}

/* The constant that a product or convolution reads as its weight. */
static const Value *weight_of(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->op->weights >> i & 1 && n->in[i] && source_of(n->in[i])->kind == VALUE_CONSTANT) return source_of(n->in[i]);
  return NULL;
}

static const Node *node_before(const Node *n) {
  for (int i = 0; i < n->in_count; i++)
    if (n->in[i] && source_of(n->in[i])->producer) return source_of(n->in[i])->producer;
  return NULL;
}

/* The next weight before n, and how many steps that change numbers lie between. */
static const Value *weight_before(const Node *n, int *steps) {
  for (*steps = 0; n && !weight_of(n); n = node_before(n))
    *steps += !(n->op->flags & OP_VIEW) && n->op != &op_cast && n->op != &op_transpose;
  return n ? weight_of(n) : NULL;
}

static const Value *weight_after(const Graph *m, const Node *n) {
  for (int i = 0; i < m->node_count; i++) {
    const Node *next = m->nodes[i];
    bool reads = false;
    for (int k = 0; k < next->in_count; k++) reads |= next->in[k] == n->out[0];
    if (!reads) continue;
    if (weight_of(next)) return weight_of(next);
    n = next;
  }
  return NULL;
}

/* A bias counts only right after its weight. */
static bool is_same_place(const Graph *m, const Node *a, const Node *b) {
  int steps, others;
  const Value *before = weight_before(a, &steps);
  if (before == weight_before(b, &others) && steps == others) return true;
  const Value *after = steps > 1 || others > 1 ? weight_after(m, a) : NULL;
  return after && after == weight_after(m, b);
}

/* ---- which were one ---- */

typedef struct Untier {
  Graph *m;
  bool traces, all; /* separates what an Identity stands for; and without that */
} Untier;

static bool is_of_kind(const Reading *a, const Reading *b) { return a->node->op == b->node->op && a->as == b->as; }

static bool is_replaced(const Reading *r) {
  return r->first->op == &op_identity && strncmp(r->first->out[0]->name, "onnx::", 6) == 0;
}

static bool is_one(const Untier *u, const Value *v, const Reading *a, const Reading *b) {
  const char *x = a->node->name, *y = b->node->name;
  bool same_call = scope_length(x) == scope_length(y) && strncmp(x, y, scope_length(x)) == 0;
  if (!same_call) return is_same_path(x, y) || !(are_numbered(x, y) || is_constant(v));
  return is_same_place(u->m, a->node, b->node) || !(is_constant(v) || a->as == READ_BIAS);
}

/* The reading that keeps v: the first in the order of the nodes, which is the last, that no Identity stands before. */
static int base_of(const Readings *all) {
  int base = all->count - 1;
  while (base > 0 && is_replaced(&all->items[base])) base--;
  return base < 0 || is_replaced(&all->items[base]) ? all->count - 1 : base;
}

/* The base, or the first reading of what the i-th reads. */
static int owner_of(const Untier *u, const Value *v, const Readings *all, int i) {
  const Reading *r = &all->items[i];
  int base = base_of(all);
  bool apart = r->as == READ_STATISTIC || u->all || (u->traces && is_replaced(r));
  for (int k = all->count - 1; k > i; k--)
    if (all->items[k].first == r->first) return k;
  for (int k = 0; k < all->count; k++) apart &= all->items[k].first != r->first || is_of_kind(&all->items[k], r);
  if (i == base || !apart || (r->as == READ_OPERAND && !is_replaced(r))) return base;
  bool any = false;
  for (int k = all->count - 1; k >= 0; k--) {
    if ((k <= i && k != base) || !is_of_kind(&all->items[k], r)) continue;
    if (is_one(u, v, &all->items[k], r)) return k;
    any = true;
  }
  return any || (is_replaced(r) && is_constant(v)) ? i : base;
}

Shared untie_find(Graph *m, const Weights *w, const bool *trained) {
  Shared found = {0};
  const Untier u = {m, false, true};
  for (int i = 0; i < m->value_count; i++) {
    const Readings *all = &w->of[i];
    int before = found.copies;
    if (m->values[i]->note == NOTE_PARAMETER && !m->values[i]->computed_from) continue; /* its nodes name it */
    for (int k = all->count - 1; trained[i] && k >= 0; k--) {
      if (k == base_of(all) || owner_of(&u, m->values[i], all, k) != k) continue;
      found.copies++;
      if (!found.example) found.as = all->items[k].as;
    }
    if (found.copies == before || found.example) continue;
    found.example = m->values[i];
    found.readers = found.copies + 1;
  }
  return found;
}

/* ---- a copy for each ---- */

static void read_instead(Node *n, const Value *v, Value *copy) {
  for (int k = 0; k < n->in_count; k++)
    if (n->in[k] == v) n->in[k] = copy;
}

static void give(Graph *m, const Value *v, const Reading *r, Value *copy) {
  read_instead(r->first, v, copy);
  for (int i = 0; i < m->node_count; i++)
    if (m->nodes[i]->expanded_from == r->first) read_instead(m->nodes[i], v, copy);
}

static Value *copy_of(Graph *m, const Value *v, const Reading *r) {
  const char *name = arena_print(m->arena, "%s.%s", r->node->name, read_as_name(r->as));
  Value *copy = name ? graph_constant(m, graph_fresh_name(m, name), v->type, &v->shape, v->data) : NULL;
  if (!copy) return NULL;
  copy->initializer = true;
  copy->computed_changed = is_replaced(r) && v->note == NOTE_ATTRIBUTE &&
                           (r->as == READ_SCALE || r->as == READ_OPERAND);
  return copy;
}

static Status separate(const Untier *u, Value *v, const Readings *all) {
  Value *given[READINGS_MAX];
  for (int k = all->count - 1; k >= 0; k--) {
    int owner = owner_of(u, v, all, k);
    given[k] = owner == base_of(all) ? v : owner > k ? given[owner] : copy_of(u->m, v, &all->items[k]);
    if (!given[k]) return error_memory(u->m->error, "for copies of parameters");
  }
  for (int k = all->count - 1; k >= 0; k--)
    if (given[k] != v) give(u->m, v, &all->items[k], given[k]);
  return STATUS_OK;
}

Status untie(Graph *m, const Weights *w, bool traces, bool all) {
  const Untier u = {m, traces, all};
  int count = m->value_count; /* copies come after them */
  for (int i = 0; i < count; i++)
    if (mode_is_parameter(m->values[i])) TRY(separate(&u, m->values[i], &w->of[i]));
  return STATUS_OK;
}
