/* The table of passes. */
#include "passes/passes.h"

#include <limits.h>

#include "passes/rewrite.h"

static const struct {
  const char *name;
  Status (*run)(Graph *g);
} passes[] = {
#define PASS(name) {#name, pass_##name},
#define LATE_PASS(name) {#name, NULL},
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS
};

Status passes_recognise(Graph *g, unsigned mask) {
  if (mask >> PASS_layer_norm & 1) TRY(pass_layer_norm(g));
  if (mask >> PASS_gelu & 1) TRY(pass_gelu(g));
  return STATUS_OK;
}

const char *passes_name(int i) { return i >= 0 && i < PASS_COUNT ? passes[i].name : NULL; }

/* A bound graph is never written to a file, so the passes may emit operators of the newest opset. */
static void allow_newest(Graph *g) {
  for (int i = 0; i < g->opset_count; i++)
    if (!*g->opsets[i].domain) g->opsets[i].version = INT_MAX;
}

Status passes_run(Graph *g, unsigned mask) {
  allow_newest(g);
  for (int i = 0; i < PASS_COUNT; i++)
    if (mask >> i & 1 && passes[i].run) TRY(passes[i].run(g));
  rewrite_drop_dead(g);
  return STATUS_OK;
}
