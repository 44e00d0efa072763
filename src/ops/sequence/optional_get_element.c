/* OptionalGetElement: the element of an optional. */
#include "graph/sequence.h"

static Status optional_get_element_expand(Expansion *c) {
  if (value_is_absent(c->node->in[0])) return node_invalid(c->node, "the optional has no element");
  c->out[0] = c->node->in[0];
  return STATUS_OK;
}

OPERATOR(optional_get_element) = {
    .name = "OptionalGetElement",
    .since = {15, 18},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = optional_get_element_expand,
};
