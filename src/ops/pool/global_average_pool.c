/* GlobalAveragePool: y (N, C, 1…) = the mean of each plane.  dx = dy / (numbers of a plane), spread over it. */
#include "graph/op.h"
#include "simd.h"
#include "threads.h"

static Status global_average_pool_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  Shape y = n->in[0]->shape;
  for (int i = 2; i < y.rank; i++) {
    if (y.dim[i] == 0) return node_invalid(n, "the mean of a plane without pixels does not exist");
    y.dim[i] = 1;
  }
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static size_t pixels_of(const Node *n) { return shape_span(&n->in[0]->shape, 2, n->in[0]->shape.rank); }

static float mean_of(const float *x, f32x4 fours, size_t from, size_t pixels) {
  float rest = 0;
  for (; from < pixels; from++) rest += x[from];
  return (f32x4_sum(fours) + rest) / (float)pixels;
}

/* Four planes side by side, for within one each addition waits for the one before. */
static void four_planes(const float *x, size_t pixels, float *y) {
  const float *x1 = x + pixels, *x2 = x1 + pixels, *x3 = x2 + pixels;
  f32x4 a = f32x4_splat(0), b = a, c = a, d = a;
  size_t i = 0;
  for (; i + 4 <= pixels; i += 4) {
    a += f32x4_load(x + i), b += f32x4_load(x1 + i);
    c += f32x4_load(x2 + i), d += f32x4_load(x3 + i);
  }
  y[0] = mean_of(x, a, i, pixels), y[1] = mean_of(x1, b, i, pixels);
  y[2] = mean_of(x2, c, i, pixels), y[3] = mean_of(x3, d, i, pixels);
}

static void run_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  size_t pixels = pixels_of(n), p = from;
  const float *x = in_f32(n, 0);
  float *y = out_f32(n, 0);
  for (; p + 4 <= to; p += 4) four_planes(x + p * pixels, pixels, y + p);
  for (; p < to; p++) {
    f32x4 fours = f32x4_splat(0);
    size_t i = 0;
    for (; i + 4 <= pixels; i += 4) fours += f32x4_load(x + p * pixels + i);
    y[p] = mean_of(x + p * pixels, fours, i, pixels);
  }
}

static void global_average_pool_run(const Node *n) {
  threads_split(out_count(n, 0), threads_grain(pixels_of(n)), run_planes, (void *)n);
}

static Status global_average_pool_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *dy = grad->dy[0];
  Value *pixels = emit(g, "Div", emit(g, "Size", x), emit(g, "Size", dy));
  Value *each = emit_with(g, "Scale", ATTRS(attr_of_int("scale_down", 1)), dy, pixels);
  grad->dx[0] = emit(g, "Expand", each, emit_shape(g, x));
  return STATUS_OK;
}

OPERATOR(global_average_pool) = {
    .name = "GlobalAveragePool",
    .since = {1},
    .inputs = {1, 1},
    .infer = global_average_pool_infer,
    .run = global_average_pool_run,
    .grad = GRADIENT(global_average_pool_grad),
    .cases = CASES({"f32[2,3,4,5]", ""}, {"f32[2,3,7]", ""}, {"f32[1,2,2,3,2]", ""}),
};
