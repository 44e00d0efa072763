/* The table of passes. */
#include "passes/passes.h"

#include <limits.h>

#include "passes/rewrite.h"

static const struct {
  const char *name;
  Status (*run)(Graph *g);
} pass_rows[] = {
/* a shrunk build has no function in those that it lacks */
#define PASS(name) {#name, pass_##name},
#define LATE_PASS(name) {#name, NULL},
#include "passes/passes.def"
#undef LATE_PASS
#undef PASS
};

Status passes_recognise(Graph *g, unsigned mask) {
  static const int recognising[] = {PASS_layer_norm, PASS_gelu};
  for (int i = 0; i < (int)(sizeof recognising / sizeof *recognising); i++) {
    int pass = recognising[i];
    if (mask >> pass & 1 && pass_rows[pass].run) TRY(pass_rows[pass].run(g));
  }
  return STATUS_OK;
}

const char *passes_name(int i) { return i >= 0 && i < PASS_COUNT ? pass_rows[i].name : NULL; }

/* A bound graph is never written to a file, so the passes may emit operators of the newest opset. */
static void allow_newest(Graph *g) {
  for (int i = 0; i < g->opset_count; i++)
    if (!*g->opsets[i].domain) g->opsets[i].version = INT_MAX;
}

Status passes_run(Graph *g, unsigned mask) {
  allow_newest(g);
  for (int i = 0; i < PASS_COUNT; i++)
    if (mask >> i & 1 && pass_rows[i].run) TRY(pass_rows[i].run(g));
  rewrite_drop_dead(g);
  return STATUS_OK;
}
