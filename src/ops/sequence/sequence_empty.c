/* SequenceEmpty: a sequence without items. */
#include "graph/sequence.h"

static Status sequence_empty_expand(Expansion *c) {
  DType type = (DType)node_int(c->node, "dtype", DTYPE_FLOAT32);
  if (!dtype_bytes(type))
    return node_fail(c->node, STATUS_UNSUPPORTED_OP, "its dtype %s is one we lack", dtype_name(type));
  c->out[0] = sequence_new(c->node, type, NULL, 0);
  return c->out[0] ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

OPERATOR(sequence_empty) = {
    .name = "SequenceEmpty",
    .since = {11},
    .inputs = {0, 0},
    .flags = OP_ANY_TYPE | OP_SEQUENCES,
    .expand = sequence_empty_expand,
};
