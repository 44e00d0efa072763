/* Strings: contents of inputs, and constants made of them. */
#include "graph/strings.h"

#include <math.h>

#include "graph/bad_index.h"
#include "graph/work.h"

static bool is_stopped(const Graph *g) { return g->stop && g->stop->asked && g->stop->asked(g->stop->context); }

bool strings_spend(const void *node, double work) {
  enum { UNASKED = 1 << 22 };
  Graph *g = ((const Node *)node)->graph;
  double before = g->work_expanded;
  g->work_expanded += work;
  if (floor(before / UNASKED) != floor(g->work_expanded / UNASKED) && is_stopped(g))
    g->work_expanded = NAN; /* so that no more is spent */
  return g->work_expanded <= work_most(g);
}

Status strings_work(const Node *n, double work) {
  const Graph *g = n->graph;
  if (strings_spend(n, work)) return STATUS_OK;
  if (is_stopped(g)) return node_fail(n, STATUS_ABORTED, "the run was stopped; no parameter was changed");
  return node_fail(n, STATUS_TOO_MUCH_WORK,
                   "its strings and those before it take as long as more than the %.1e multiply-adds that %s",
                   work_most(g), g->work_limit > 0 ? "maxWork allows" : "are done while a model is loaded");
}

int strings_compare(const char *a, const char *b, size_t *letters) {
  enum { COMPARISON = 8 };
  const char *at = a;
  for (; *at == *b && *at; at++) b++;
  *letters += COMPARISON + (size_t)(at - a);
  return (unsigned char)*at - (unsigned char)*b;
}

bool strings_may_read(void) { return !bad_index_first()->node; }

static Status refuse(const Node *n) { return strings_work(n, 0); }

bool strings_count(const Node *n, size_t letters) {
  bool goes_on = strings_may_read() && strings_spend(n, WORK_LETTER * (double)letters);
  if (!goes_on) bad_index_refuse(n, refuse);
  return goes_on;
}

const char *const *strings_of(const Node *n, int input, size_t *count) {
  const void *data;
  if (n->in[input]->type != DTYPE_STRING) {
    node_invalid(n, "input %d ('%.64s') is %s, it must be string", input, n->in[input]->name,
                 dtype_name(n->in[input]->type));
    return NULL;
  }
  if (node_contents(n, input, &data) != STATUS_OK) return NULL;
  *count = shape_elements(&n->in[input]->shape);
  return data;
}

Value *strings_constant(Expansion *c, DType type, const Shape *shape, const void *data) {
  const char *name = graph_fresh_name(c->graph, "const");
  return name ? graph_constant(c->graph, name, type, shape, data) : NULL;
}
