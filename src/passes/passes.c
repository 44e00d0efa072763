/* The table of passes. */
#include "passes/passes.h"

#include <limits.h>

#include "part.h"
#include "passes/rewrite.h"

#define PASS(name) OPTIONAL(pass_##name, pass_##name);
#define LATE_PASS(name)
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS

static const struct {
  const char *name;
  Status (*const volatile *run)(Graph *g);
} passes[] = {
#define PASS(name) {#name, &part_pass_##name},
#define LATE_PASS(name) {#name, NULL},
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS
};

/* A hash of the things that a pass can change. */
static size_t fingerprint(const Graph *g) {
  enum { FACTOR = 0x01000193 }; /* FNV-1a's */
  size_t hash = (size_t)g->node_count;
  for (int i = 0; i < g->node_count; i++) {
    const Node *n = g->nodes[i];
    hash = (hash ^ (size_t)(uintptr_t)n->op) * FACTOR;
    for (int k = 0; k < n->in_count; k++)
      hash = (hash ^ (size_t)(uintptr_t)n->in[k] ^ (n->in[k] ? (size_t)n->in[k]->kind : 0)) * FACTOR;
    for (int k = 0; k < n->out_count; k++) hash = (hash ^ (size_t)(uintptr_t)n->out[k]) * FACTOR;
  }
  return hash;
}

static unsigned seen; /* passes that have changed a graph */
unsigned passes_seen(void) { return seen; }

static Status run(Graph *g, unsigned mask, int pass) {
  if (!(mask >> pass & 1) || !passes[pass].run || !*passes[pass].run) return STATUS_OK;
  size_t before = fingerprint(g);
  TRY((*passes[pass].run)(g));
  rewrite_drop_dead(g);
  if (fingerprint(g) != before) seen |= 1u << pass;
  return STATUS_OK;
}

Status passes_recognise(Graph *g, unsigned mask) {
  TRY(run(g, mask, PASS_layer_norm));
  return run(g, mask, PASS_gelu);
}

const char *passes_name(int i) { return i >= 0 && i < PASS_COUNT ? passes[i].name : NULL; }

/* A bound graph is never written to a file, so the passes may emit operators of the newest opset. */
static void allow_newest(Graph *g) {
  for (int i = 0; i < g->opset_count; i++)
    if (!*g->opsets[i].domain) g->opsets[i].version = INT_MAX;
}

Status passes_run(Graph *g, unsigned mask) {
  allow_newest(g);
  rewrite_drop_dead(g);
  for (int i = 0; i < PASS_COUNT; i++) TRY(run(g, mask, i));
  return STATUS_OK;
}
