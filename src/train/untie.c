/* Untie. Readers of one kind alone are separated: an embedding that is the output's weight too stays tied. And only
 * where it is safe to say that sharing was not meant:
 *
 * - a module that is called several times (in PyTorch's names `/fc/Gemm`, `/fc_1/Gemm`) keeps its parameters;
 * - tensors whose elements are all equal, as zeros and ones, began as several;
 * - so did tensors of numbered copies of a layer (`layers.0`, `layers.1`), whatever they hold.
 *
 * Running statistics are separated whatever is asked for: a step writes each of them. */
#include "train/untie.h"

#include <ctype.h>
#include <string.h>

#include "ops/ops.h"
#include "train/mode.h"

/* The name that a parameter had before the exporter put an Identity of another in its place; NULL: none that says
 * more than a number. */
static const char *former_name(const Node *first) {
  bool named = first->op == &op_identity && strncmp(first->out[0]->name, "onnx::", 6) != 0;
  return named && !first->out[0]->fetched ? first->out[0]->name : NULL;
}

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

static bool is_same_module(const char *a, const char *b) {
  const char *end_a = a + scope_length(a), *end_b = b + scope_length(b);
  if (!strchr(a, '/') || !strchr(b, '/')) return false;
  for (;; a++, b++) {
    a = past_call(a, end_a), b = past_call(b, end_b);
    if (a == end_a || b == end_b) return a == end_a && b == end_b;
    if (*a != *b) return false;
  }
}

/* Equal but for numbers. */
static bool are_numbered(const char *a, size_t a_length, const char *b, size_t b_length) {
  const char *end_a = a + a_length, *end_b = b + b_length;
  while (a < end_a && b < end_b) {
    bool digit = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
    if (!digit && *a++ != *b++) return false;
    while (digit && a < end_a && isdigit((unsigned char)*a)) a++;
    while (digit && b < end_b && isdigit((unsigned char)*b)) b++;
  }
  return a == end_a && b == end_b && a_length > 0;
}

static bool is_constant(const Value *v) {
  const float *x = v->data;
  size_t count = shape_elements(&v->shape), equal = 0;
  for (size_t i = 0; i < count; i++) equal += x[i] == x[0];
  return equal == count;
}

static bool may_separate(const Value *v, const Reading *owner, const Reading *r) {
  const char *former = former_name(r->first), *a = owner->node->name, *b = r->node->name;
  if (!former && is_same_module(a, b)) return false;
  if (former ? are_numbered(v->name, strlen(v->name), former, strlen(former))
             : are_numbered(a, scope_length(a), b, scope_length(b)))
    return true;
  return is_constant(v);
}

static bool is_of_kind(const Reading *a, const Reading *b) { return a->node->op == b->node->op && a->as == b->as; }

/* By an Identity, which reads another parameter than the node did in PyTorch. */
static bool is_replaced(const Reading *r) { return r->first->op == &op_identity; }

/* The reading that keeps v where the i-th is separated from it, NULL where that stays. The last are the first nodes. */
static const Reading *owner_of(const Value *v, const Readings *all, int i) {
  const Reading *r = &all->items[i], *owner = NULL;
  bool any_kind = former_name(r->first) && is_constant(v);
  if (r->as == READ_OPERAND) return NULL;
  for (int k = all->count - 1; k >= 0; k--) {
    const Reading *other = &all->items[k];
    if (other->first == r->first && !is_of_kind(other, r)) return NULL;
    if (other->as == READ_OPERAND || !(any_kind || is_of_kind(other, r))) continue;
    if (!owner || (is_replaced(owner) && !is_replaced(other))) owner = other;
  }
  return owner->first != r->first && may_separate(v, owner, r) ? owner : NULL;
}

/* Whether an earlier reading goes the same first step. */
static bool is_done(const Readings *all, int i) {
  for (int k = all->count - 1; k > i; k--)
    if (all->items[k].first == all->items[i].first) return true;
  return false;
}

Shared untie_find(const Graph *m, const Weights *w, const bool *trained) {
  Shared found = {0};
  for (int i = 0; i < m->value_count; i++) {
    const Readings *all = &w->of[i];
    int before = found.copies;
    for (int k = all->count - 1; trained[i] && k >= 0; k--) {
      if (is_done(all, k) || !owner_of(m->values[i], all, k)) continue;
      found.copies++;
      if (!found.example) found.as = all->items[k].as;
    }
    if (found.copies == before || found.example) continue;
    found.example = m->values[i];
    found.readers = found.copies + 1;
  }
  return found;
}

/* The Identity's output becomes the parameter; without the Identity it has the name that it had in PyTorch. */
static void become_parameter(const Value *v, Node *identity) {
  Value *out = identity->out[0];
  out->kind = VALUE_CONSTANT;
  out->producer = NULL;
  out->initializer = true;
  out->data = v->data;
  out->known = v->known;
  Graph *g = identity->graph;
  int kept = 0;
  for (int i = 0; i < g->node_count; i++)
    if (g->nodes[i] != identity) g->nodes[kept++] = g->nodes[i];
  g->node_count = kept;
}

static void read_instead(Node *n, const Value *v, Value *copy) {
  for (int k = 0; k < n->in_count; k++)
    if (n->in[k] == v) n->in[k] = copy;
}

static Status separate(Graph *m, Value *v, const Reading *r) {
  if (former_name(r->first)) return become_parameter(v, r->first), STATUS_OK;
  const char *name = arena_print(m->arena, "%s.%s", r->node->name, read_as_name(r->as));
  Value *copy = name ? graph_constant(m, graph_fresh_name(m, name), v->type, &v->shape, v->data) : NULL;
  if (!copy) return error_set(m->error, STATUS_OUT_OF_MEMORY, NULL, "out of memory for the copies of parameters");
  copy->initializer = true;
  read_instead(r->first, v, copy);
  for (int i = 0; i < m->node_count; i++)
    if (m->nodes[i]->whole == r->first) read_instead(m->nodes[i], v, copy);
  return STATUS_OK;
}

Status untie(Graph *m, const Weights *w, bool all_kinds) {
  int count = m->value_count; /* copies come after them */
  for (int i = 0; i < m->output_count; i++) m->outputs[i]->fetched = true;
  for (int i = 0; i < count; i++) {
    const Readings *all = &w->of[i];
    for (int k = all->count - 1; mode_is_parameter(m->values[i]) && k >= 0; k--)
      if ((all_kinds || all->items[k].as == READ_STATISTIC) && !is_done(all, k) && owner_of(m->values[i], all, k))
        TRY(separate(m, m->values[i], &all->items[k]));
  }
  return STATUS_OK;
}
