/* Shape: the dims of x, or those from start to end, as int64; known before any run. */
#include <string.h>

#include "graph/op.h"

static int clamp(int64_t at, int rank) {
  if (at < 0) at += rank;
  return at < 0 ? 0 : at > rank ? rank : (int)at;
}

static Status shape_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  bool cuts = n->version >= 15;
  int start = clamp(cuts ? node_int(n, "start", 0) : 0, x->rank),
      end = clamp(cuts ? node_int(n, "end", x->rank) : x->rank, x->rank);
  int *first = NODE_PARAMS(n, int);
  if (!first) return STATUS_OUT_OF_MEMORY;
  *first = start;
  int count = end > start ? end - start : 0;
  Shape y = SHAPE(count);
  TRY(node_output(n, 0, DTYPE_INT64, &y));
  node_output_known(n, 0, x->dim + start, count);
  return STATUS_OK;
}

static void shape_run(const Node *n) {
  const int *start = n->params;
  size_t bytes = out_count(n, 0) * sizeof(int64_t);
  if (bytes) memcpy(n->out[0]->data, n->in[0]->shape.dim + *start, bytes);
}

OPERATOR(shape) = {
    .name = "Shape",
    .since = {1, 13, 15, 19, 21},
    .inputs = {1, 1},
    .flags = OP_ANY_TYPE | OP_STRINGS,
    .infer = shape_infer,
    .run = shape_run,
    .cases = CASES({"f32[2,3,4]"}, {"f32[2,3,4]", "start=1"}, {"f32[2,3,4]", "start=-2 end=-1"},
                   {"f32[2,3,4]", "start=2 end=1"}, {"f32[2,3,4]", "start=1", 13}, /* not yet an attribute */
                   {"f32[]"}),
};
