/* OptionalHasElement: whether an optional has one. */
#include "graph/sequence.h"

static Status optional_has_element_expand(Expansion *c) {
  bool has = has_in(c->node, 0) && !value_is_absent(c->node->in[0]);
  c->out[0] = emit_truth(c->graph, has);
  return c->graph->error->status;
}

OPERATOR(optional_has_element) = {
    .name = "OptionalHasElement",
    .since = {15, 18},
    .inputs = {0, 1},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = optional_has_element_expand,
};
