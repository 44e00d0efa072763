/* Guarded blocks and the loop over nodes. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"
#include "graph/bad_index.h"

#if defined(__SANITIZE_ADDRESS__)
enum { GUARD_BYTES = 0 }; /* the sanitizer's own guards are better: they see reads too */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { GUARD_BYTES = 0 };
#else
enum { GUARD_BYTES = 64 };
#endif
#else
enum { GUARD_BYTES = 64 };
#endif
/* Another byte for each block: a guard copied from one block over another's must show. */
static unsigned char guard_of(int index) { return (unsigned char)(0x5C + 7 * index); }

static void *guarded(size_t bytes, int fill, int guard) {
  void *p = NULL;
  if (posix_memalign(&p, 64, bytes + GUARD_BYTES + (bytes == 0)) != 0) return NULL;
  memset(p, fill, bytes);
  memset((char *)p + bytes, guard, GUARD_BYTES);
  return p;
}

/* Output k of an updating op is input updates[k] itself. */
static void alias_updates(Graph *g) {
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    for (int k = 0; k < n->out_count && k < UPDATES_MAX; k++)
      if (n->op->flags & OP_UPDATES && n->op->updates[k] > 0 && has_out(n, k))
        n->out[k]->data = n->in[n->op->updates[k]]->data;
  }
}

static bool is_update(const Value *v) {
  const Node *n = v->producer;
  for (int k = 0; v->kind == VALUE_NODE && k < n->out_count && k < UPDATES_MAX; k++)
    if (n->out[k] == v && n->op->flags & OP_UPDATES && n->op->updates[k] > 0) return true;
  return false;
}

bool machine_new(Machine *m, Graph *g, int fill, char problem[160]) {
  *m = (Machine){.g = g, .raw = calloc((size_t)g->value_count + 1, sizeof(void *))};
  for (int i = 0; i < g->value_count; i++) {
    Value *v = g->values[i];
    size_t count;
    if (v->kind == VALUE_CONSTANT || is_update(v)) continue;
    if (!v->type || !shape_count(&v->shape, &count)) {
      char text[SHAPE_TEXT];
      snprintf(problem, 160, "%.60s is %s of shape %.60s", v->name, dtype_name(v->type), shape_print(&v->shape, text));
      machine_free(m);
      return false;
    }
    v->data = m->raw[i] = guarded(value_bytes(v), v->kind == VALUE_NODE ? fill : 0, guard_of(i));
  }
  alias_updates(g);
  return true;
}

void machine_set(Machine *m, Value *v, const void *data, size_t bytes) {
  (void)m;
  if (bytes) memcpy(v->data, data, bytes);
}

void machine_share(Machine *m, Value *input) { m->g->nodes[0]->out[0]->data = input->data; }

enum { OPS_MAX = 1024 };
static const Op *ran[OPS_MAX];

bool machine_has_run(const Op *op) {
  for (int i = 0; i < OPS_MAX && ran[i]; i++)
    if (ran[i] == op) return true;
  return false;
}

static void note_run(const Op *op) {
  int i = 0;
  while (i < OPS_MAX - 1 && ran[i] && ran[i] != op) i++;
  ran[i] = op;
}

static void *copy_of(const void *from, size_t bytes) { return memcpy(malloc(bytes), from, bytes); }

static Value **copies_of(Value **values, int count) {
  Value **copies = malloc((size_t)count * sizeof *copies + 1);
  for (int i = 0; i < count; i++) copies[i] = values[i] ? copy_of(values[i], VALUE_RUN_BYTES) : NULL;
  return copies;
}

static void free_copies(Value **copies, int count) {
  for (int i = 0; i < count; i++) free(copies[i]);
  free(copies);
}

/* Keeps no more than a trainer of a node, its values and its graph; the sanitizer sees who reads beyond. */
static void run_kept(const Node *n) {
  Node *kept = copy_of(n, n->op->flags & OP_ATTRIBUTES ? sizeof *n : NODE_RUN_BYTES);
  kept->graph = copy_of(n->graph, GRAPH_RUN_BYTES);
  kept->in = copies_of(n->in, n->in_count);
  kept->out = copies_of(n->out, n->out_count);
  n->op->run(kept);
  free_copies(kept->out, n->out_count);
  free_copies(kept->in, n->in_count);
  free(kept->graph);
  free(kept);
}

void machine_run(Machine *m) {
  for (int i = 0; i < m->g->node_count; i++) {
    Node *n = m->g->nodes[i];
    n->scratch = guarded(n->scratch_bytes, 0xEE, 0);
    run_kept(n);
    bad_index_none(); /* a case may have one; nobody asks for it here */
    note_run(n->op);
    free(n->scratch);
    n->scratch = NULL;
  }
}

const char *machine_overrun(const Machine *m) {
  for (int i = 0; i < m->g->value_count && GUARD_BYTES > 0; i++) {
    const Value *v = m->g->values[i];
    const unsigned char *end = m->raw[i] ? (const unsigned char *)m->raw[i] + value_bytes(v) : NULL;
    for (int k = 0; end && k < GUARD_BYTES; k++)
      if (end[k] != guard_of(i)) return v->name;
  }
  return "";
}

void machine_free(Machine *m) {
  for (int i = 0; m->raw && i < m->g->value_count; i++)
    if (m->raw[i]) free(m->raw[i]), m->g->values[i]->data = NULL;
  free(m->raw);
  *m = (Machine){0};
}
