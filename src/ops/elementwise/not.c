/* Not: y = !x for bool. */
#include "graph/op.h"

static Status not_infer(Node *n) {
  TRY(node_want_type(n, 0, DTYPE_BOOL));
  return node_output(n, 0, DTYPE_BOOL, &n->in[0]->shape);
}

static void not_run(const Node *n) {
  const uint8_t *x = n->in[0]->data;
  uint8_t *y = n->out[0]->data;
  for (size_t i = 0, count = out_count(n, 0); i < count; i++) y[i] = !x[i];
}

OPERATOR(not) = {
    .name = "Not",
    .since = {1},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = not_infer,
    .run = not_run,
    .cases = CASES({"v:bool[5]=1,0,0,1,1"}),
};
