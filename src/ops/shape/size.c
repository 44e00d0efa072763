/* Size: the number of elements of x as an int64 scalar; known before any run. */
#include "graph/dims.h"

static Status size_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Dim count;
  if (!dims_divide(n->graph, x->dim, x->rank, NULL, 0, &count)) return node_invalid(n, "its input is too large");
  TRY(node_output(n, 0, DTYPE_INT64, &(Shape){0}));
  node_output_known(n, 0, &count, 1);
  return STATUS_OK;
}

static void size_run(const Node *n) { *(int64_t *)n->out[0]->data = (int64_t)in_count(n, 0); }

OPERATOR(size) = {
    .name = "Size",
    .since = {1, 13, 19, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = size_infer,
    .run = size_run,
    .cases = CASES({"f32[2,3]"}, {"f32[]"}, {"f32[0,3]"}),
};
