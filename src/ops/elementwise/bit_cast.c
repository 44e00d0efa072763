/* BitCast: the same bits as another type of the same width. */
#include <string.h>

#include "graph/op.h"

static Status bit_cast_infer(Node *n) {
  DType from = n->in[0]->type, to = (DType)node_int(n, "to", 0);
  if (!dtype_raw_bytes(to)) return node_fail(n, STATUS_UNSUPPORTED_OP, "type %d is one we lack", (int)to);
  if (dtype_raw_bytes(from) != dtype_raw_bytes(to))
    return node_invalid(n, "%s has not as many bits as %s", dtype_name(from), dtype_name(to));
  return node_output(n, 0, to, &n->in[0]->shape);
}

static void bit_cast_run(const Node *n) {
  size_t bytes = value_bytes(n->in[0]);
  if (bytes) memcpy(n->out[0]->data, n->in[0]->data, bytes);
}

OPERATOR(bit_cast) = {
    .name = "BitCast",
    .since = {26},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE,
    .infer = bit_cast_infer,
    .run = bit_cast_run,
    .cases = CASES({"f32[2,3]", "to=6", 26}, {"v:i64[2]=4607182418800017408,0", "to=11", 26}),
};
