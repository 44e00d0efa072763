/* Duplicate: two nodes with the same operator, attributes and inputs compute the same; readers of the second read the
 * first instead. Small constants that are equal count as one. Nodes are found by a hash of all that. */
#include <string.h>

#include "passes/rewrite.h"

enum { CONSTANT_BYTES_MAX = 256 };

static bool constants_equal(const Value *a, const Value *b) {
  if (a->kind != VALUE_CONSTANT || b->kind != VALUE_CONSTANT || a->type != b->type ||
      !shape_equal(&a->shape, &b->shape))
    return false;
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
  if (a->op != b->op || a->version != b->version || a->in_count != b->in_count || a->out_count != b->out_count ||
      a->attr_count != b->attr_count)
    return false;
  for (int i = 0; i < a->in_count; i++)
    if (!same_value(a->in[i], b->in[i])) return false;
  for (int i = 0; i < a->out_count; i++)
    if (!a->out[i] != !b->out[i]) return false;
  for (int i = 0; i < a->attr_count; i++)
    if (!same_attr(&a->attrs[i], &b->attrs[i])) return false;
  return true;
}

/* ---- the table ---- */

/* Nodes kept, by their place in the graph: a list for each slot, the newest first. */
typedef struct Table {
  int *slots, *next; /* place + 1 */
  uint32_t mask;
} Table;

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) h = mix(h, ((const uint8_t *)bytes)[i]);
  return h;
}

static uint64_t mix_value(uint64_t h, const Value *v) {
  bool by_contents = v && v->kind == VALUE_CONSTANT && value_bytes(v) <= CONSTANT_BYTES_MAX;
  return by_contents ? mix_bytes(mix(h, (uint64_t)v->type), v->data, value_bytes(v)) : mix(h, (uintptr_t)v);
}

static uint64_t mix_attr(uint64_t h, const Attr *a) {
  h = mix(h, (uint64_t)a->kind);
  switch (a->kind) {
    case ATTR_FLOAT: return mix_bytes(h, &a->f, sizeof a->f);
    case ATTR_INT: return mix(h, (uint64_t)a->i);
    case ATTR_STRING: return mix_bytes(h, a->s, strlen(a->s));
    case ATTR_INTS: return mix_bytes(h, a->ints, (size_t)a->count * sizeof *a->ints);
    default: return h;
  }
}

static uint32_t hash_of(const Node *n) {
  uint64_t h = mix((uintptr_t)n->op, (uint64_t)n->in_count);
  for (int i = 0; i < n->in_count; i++) h = mix_value(h, n->in[i]);
  for (int i = 0; i < n->out_count; i++) h = mix(h, n->out[i] != NULL);
  for (int i = 0; i < n->attr_count; i++) h = mix_attr(h, &n->attrs[i]);
  return (uint32_t)h;
}

/* An output of the graph keeps the node that writes it. */
static bool merge(Node *n, Node *first) {
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i] && n->out[i]->fetched) return false;
  for (int i = 0; i < n->out_count; i++)
    if (n->out[i]) rewrite_value(n->out[i], first->out[i]);
  return true;
}

static bool rewrite(Graph *g, Node *n, void *table) {
  const Table *t = table;
  if (n->op->flags & (OP_RANDOM | OP_UPDATES) || n->out_count == 0) return false;
  int *slot = &t->slots[hash_of(n) & t->mask], k = *slot;
  while (k && !same_node(n, g->nodes[k - 1])) k = t->next[k - 1];
  if (k && merge(n, g->nodes[k - 1])) return true;
  t->next[g->node_count] = *slot; /* its own index: nothing is emitted here */
  *slot = g->node_count + 1;
  return false;
}

Status pass_duplicate(Graph *g) {
  Arena scratch = {0};
  uint32_t slots = 64;
  while (slots < (uint32_t)g->node_count) slots *= 2;
  Table table = {ARENA_ARRAY(&scratch, int, slots), ARENA_ARRAY(&scratch, int, g->node_count), slots - 1};
  bool room = table.slots && table.next;
  Status status = room ? rewrite_each_with(g, rewrite, &table) : error_memory(g->error, "while planning");
  arena_free(&scratch);
  return status;
}
