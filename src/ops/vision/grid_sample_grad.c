/* GridSampleGrad: the gradients of X and of the grid from dY, X and the grid, with GridSample's attributes. dX spreads
 * dY by the interpolation weights, dGrid multiplies it by their slopes. */
#include <string.h>

#include "ops/vision/grid.h"
#include "threads.h"

static Status grid_sample_grad_infer(Node *n) {
  Shape y;
  Grid *g;
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  TRY(grid_read(n, 1, &y, &g));
  TRY(node_want_float(n, 0));
  if (n->in[0]->shape.rank != y.rank ||
      (g && shape_is_concrete(&n->in[0]->shape) && !shape_equal(&y, &n->in[0]->shape)))
    return node_invalid(n, "dY is %s, GridSample gives %s", shape_print(&n->in[0]->shape, came),
                        shape_print(&y, wanted));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape));
  return node_output(n, 1, DTYPE_FLOAT32, &n->in[2]->shape);
}

/* One point: dx is of its picture, NULL when it is not wanted; slopes get Σ over c of dy[c] · ∂y[c] / ∂point. */
static void point_gradient(const Grid *g, const GridTaps *t, const float *dy, const float *x, float *dx,
                           float slopes[GRID_RANK]) {
  for (size_t c = 0; c < g->channels; c++, dy += g->points, x += grid_pixels(g)) {
    for (int k = 0; k < t->count && dx; k++) dx[c * grid_pixels(g) + t->offset[k]] += t->weight[k] * *dy;
    for (int a = 0; a < g->rank; a++) {
      float sum = 0;
      for (int k = 0; k < t->count; k++) sum += t->slope[a][k] * x[t->offset[k]];
      slopes[a] += sum * *dy;
    }
  }
}

static void run_pictures(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Grid *g = n->params;
  size_t picture = g->channels * grid_pixels(g);
  GridTaps taps;
  for (size_t b = from; b < to; b++) {
    float *dx = has_out(n, 0) ? out_f32(n, 0) + b * picture : NULL;
    if (dx && picture) memset(dx, 0, picture * sizeof *dx);
    for (size_t p = 0; p < g->points; p++) {
      float slopes[GRID_RANK] = {0};
      size_t at = (b * g->points + p) * (size_t)g->rank;
      grid_taps(g, in_f32(n, 2) + at, true, &taps);
      point_gradient(g, &taps, in_f32(n, 0) + b * g->channels * g->points + p, in_f32(n, 1) + b * picture, dx, slopes);
      if (has_out(n, 1)) memcpy(out_f32(n, 1) + at, slopes, (size_t)g->rank * sizeof *slopes);
    }
  }
}

static void grid_sample_grad_run(const Node *n) {
  const Grid *g = n->params;
  threads_split(g->batch, threads_grain(g->points * (16 + 16 * g->channels)), run_pictures, (void *)n);
}

OPERATOR(grid_sample_grad) = {
    .name = "GridSampleGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 3},
    .outputs = {0, 2},
    .flags = OP_OURS,
    .infer = grid_sample_grad_infer,
    .run = grid_sample_grad_run,
    .work = grid_work,
    .cases = CASES({"f32[2,3,3,2] f32[2,3,4,5] f32[2,3,2,2]:-1.4..1.4", "padding_mode=border", 0, 2}),
};
