/* Strings: contents of inputs, and constants made of them. */
#include "graph/strings.h"

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

Value *strings_constant(Compose *c, DType type, const Shape *shape, const void *data) {
  const char *name = graph_fresh_name(c->graph, "const");
  return name ? graph_constant(c->graph, name, type, shape, data) : NULL;
}
