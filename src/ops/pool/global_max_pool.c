/* GlobalMaxPool: y (N, C, 1…) = the maximum of each plane, NaN if an element is.  dx = dy at the maximum, divided among
 * equal maxima. */
#include <math.h>
#include "ops/reduce/reduce_fold.h"
#include "threads.h"

static Status global_max_pool_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  Shape y = n->in[0]->shape;
  for (int i = 2; i < y.rank; i++) {
    if (y.dim[i] == 0) return node_invalid(n, "the largest of a plane without pixels does not exist");
    y.dim[i] = 1;
  }
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static size_t pixels_of(const Node *n) { return shape_span(&n->in[0]->shape, 2, n->in[0]->shape.rank); }

static void run_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  size_t pixels = pixels_of(n);
  const float *x = in_f32(n, 0) + from * pixels;
  float *y = out_f32(n, 0);
  for (size_t p = from; p < to; p++, x += pixels) {
    y[p] = -INFINITY;
    reduce_fold_max(x, NULL, y + p, 0, pixels);
  }
}

static void global_max_pool_run(const Node *n) {
  threads_split(out_count(n, 0), threads_grain(pixels_of(n)), run_planes, (void *)n);
}

static Status global_max_pool_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *y = grad->node->out[0];
  int64_t axes[RANK_MAX];
  int count = 0;
  for (int i = 2; i < x->shape.rank; i++) axes[count++] = i;
  Value *at = emit_with(g, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), emit(g, "Equal", x, y));
  Value *equal_ones = emit_with(g, "ReduceSumTraining",
                                ATTRS(attr_of_int("keepdims", 1), attr_of_int("noop_with_empty_axes", 1)), at,
                                emit_ints(g, axes, count));
  grad->dx[0] = emit(g, "Mul", at, emit(g, "Div", grad->dy[0], equal_ones));
  return STATUS_OK;
}

OPERATOR(global_max_pool) = {
    .name = "GlobalMaxPool",
    .since = {1},
    .inputs = {1, 1},
    .infer = global_max_pool_infer,
    .run = global_max_pool_run,
    .grad = GRADIENT(global_max_pool_grad),
    .cases = CASES({"f32[2,3,4,5]", ""}, {"f32[2,3,7]", ""}, {"f32[2,3]"}, {"v:f32[1,2,3]=1,2,2,0,0,0", .kink = true}),
};
