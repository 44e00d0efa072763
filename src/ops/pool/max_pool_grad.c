/* MaxPoolGrad: dx = 0, then dx[indices[i]] += dy[i]. The shape of dx is that of the input of the MaxPool that gave
 * Indices. */
#include <string.h>
#include "graph/op.h"
#include "threads.h"

static Status max_pool_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_type(n, 1, DTYPE_INT64));
  const Node *pool = n->in[1]->producer;
  char dy[SHAPE_TEXT], indices[SHAPE_TEXT];
  if (!pool || strcmp(pool->op->name, "MaxPool") != 0 || !has_out(pool, 1) || n->in[1] != pool->out[1])
    return node_fail(n, STATUS_UNSUPPORTED_OP,
                     "Indices must come from a MaxPool in the same graph: it tells the shape of dX");
  if (node_is_concrete(n) && !shape_equal(&n->in[0]->shape, &n->in[1]->shape))
    return node_invalid(n, "dY is %s, Indices are %s", shape_print(&n->in[0]->shape, dy),
                        shape_print(&n->in[1]->shape, indices));
  return node_output(n, 0, DTYPE_FLOAT32, &pool->in[0]->shape);
}

/* The indices of a plane stay in that plane. */
static void run_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  const float *dy = in_f32(n, 0);
  const int64_t *indices = n->in[1]->data;
  float *dx = out_f32(n, 0);
  size_t in = shape_span(&n->out[0]->shape, 2, n->out[0]->shape.rank),
         out = shape_span(&n->in[0]->shape, 2, n->in[0]->shape.rank);
  memset(dx + from * in, 0, (to - from) * in * sizeof *dx);
  for (size_t i = from * out; i < to * out; i++) dx[indices[i]] += dy[i];
}

static void max_pool_grad_run(const Node *n) {
  const Shape *x = &n->out[0]->shape;
  threads_split(shape_span(x, 0, 2), threads_grain(shape_span(x, 2, x->rank)), run_planes, (void *)n);
}

OPERATOR(max_pool_grad) = {
    .name = "MaxPoolGrad",
    .since = {1, 9},
    .inputs = {2, 2},
    .infer = max_pool_grad_infer,
    .run = max_pool_grad_run,
};
