/* The table of passes. */
#include "passes/passes.h"

#include <limits.h>

#include "part.h"
#include "passes/rewrite.h"

#define PASS(name) PART(pass_##name, pass_##name);
#define LATE_PASS(name)
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS

static const struct {
  const char *name;
  Status (*const *run)(Graph *g);
} passes[] = {
#define PASS(name) {#name, &part_pass_##name},
#define LATE_PASS(name) {#name, NULL},
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS
};

static Status run(Graph *g, unsigned mask, int pass) {
  bool is_here = passes[pass].run && *passes[pass].run;
  return mask >> pass & 1 && is_here ? (*passes[pass].run)(g) : STATUS_OK;
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
  for (int i = 0; i < PASS_COUNT; i++) TRY(run(g, mask, i));
  rewrite_drop_dead(g);
  return STATUS_OK;
}
