/* Strings: contents of inputs, and constants made of them. */
#include "graph/strings.h"

#include <string.h>

#include "graph/work.h"

bool strings_stopped(const void *node) {
  const ThreadsStop *stop = ((const Node *)node)->graph->stop;
  return stop && stop->asked && stop->asked(stop->context);
}

Status strings_work(const Node *n, double work) {
  if (strings_stopped(n)) return node_fail(n, STATUS_ABORTED, "the run was stopped; no parameter was changed");
  return work_compose(n, work);
}

/* Each is read at least once, one that many elements share as often. */
static double letters_of(const Node *n, const char *const *x, size_t count) {
  double letters = 0, most = work_left(n->graph);
  for (size_t i = 0; i < count && letters <= most; i++) {
    letters += WORK_ELEMENT + (double)strlen(strings_text(x[i]));
    if (i % 4096 == 0 && strings_stopped(n)) break;
  }
  return letters;
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
  return strings_work(n, letters_of(n, data, *count)) == STATUS_OK ? data : NULL;
}

Value *strings_constant(Compose *c, DType type, const Shape *shape, const void *data) {
  const char *name = graph_fresh_name(c->graph, "const");
  return name ? graph_constant(c->graph, name, type, shape, data) : NULL;
}
