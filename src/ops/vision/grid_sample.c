/* GridSample: X read at the points of a grid, between its pixels: of the nearest, by linear or cubic interpolation. */
#include "ops/vision/grid.h"
#include "threads.h"

static Status grid_sample_infer(Node *n) {
  Shape y;
  Grid *g;
  TRY(grid_read(n, 0, &y, &g));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* Of four neighbours, as linear interpolation in two dimensions has them within a picture. */
static void sample_four(const Grid *g, const GridTaps *t, const float *x, float *y) {
  size_t a = t->offset[0], b = t->offset[1], c = t->offset[2], d = t->offset[3], pixels = grid_pixels(g);
  float of_a = t->weight[0], of_b = t->weight[1], of_c = t->weight[2], of_d = t->weight[3];
  for (size_t k = 0; k < g->channels; k++, x += pixels, y += g->points)
    *y = of_a * x[a] + of_b * x[b] + of_c * x[c] + of_d * x[d];
}

static void sample_points(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Grid *g = n->params;
  GridTaps taps;
  for (size_t at = from; at < to; at++) {
    size_t picture = at / g->points * g->channels;
    const float *x = in_f32(n, 0) + picture * grid_pixels(g);
    float *y = out_f32(n, 0) + picture * g->points + at % g->points;
    grid_taps(g, in_f32(n, 1) + at * (size_t)g->rank, false, &taps);
    if (taps.count == 4) {
      sample_four(g, &taps, x, y);
      continue;
    }
    for (size_t c = 0; c < g->channels; c++, x += grid_pixels(g), y += g->points) {
      float sum = 0;
      for (int k = 0; k < taps.count; k++) sum += taps.weight[k] * x[taps.offset[k]];
      *y = sum;
    }
  }
}

static void grid_sample_run(const Node *n) {
  const Grid *g = n->params;
  threads_split(g->batch * g->points, threads_grain(16 + 8 * g->channels), sample_points, (void *)n);
}

static Status grid_sample_grad(Grad *g) {
  Node *n = g->node;
  bool want[] = {g->want[0], g->want[1]};
  AttrList attrs = {n->attrs, n->attr_count};
  Node *grad = emit_node(g->graph, "GridSampleGrad", attrs, (Value *[]){g->dy[0], n->in[0], n->in[1]}, 3,
                         want[1] ? 2 : 1, want);
  for (int i = 0; grad && i < 2; i++)
    if (want[i]) g->dx[i] = grad->out[i];
  return STATUS_OK;
}

OPERATOR(grid_sample) = {
    .name = "GridSample",
    .since = {16, 20, 22},
    .inputs = {2, 2},
    .infer = grid_sample_infer,
    .run = grid_sample_run,
    .grad = GRADIENT(grid_sample_grad),
    .work = grid_work,
    .cases = CASES({"f32[2,3,4,5] f32[2,3,2,2]:-1.4..1.4", "", 16},
                   {"f32[1,2,3,4] f32[1,3,5,2]:-1.4..1.4", "mode=bilinear padding_mode=border align_corners=1", 16},
                   {"f32[1,2,3,4] f32[1,3,5,2]:-3..3", "mode=bilinear padding_mode=reflection", 16},
                   {"f32[1,2,1,4] f32[1,3,5,2]:-3..3", "mode=linear padding_mode=reflection align_corners=1", 20},
                   {"f32[1,2,5,4] f32[1,3,5,2]:-1.4..1.4", "mode=nearest padding_mode=border", 20},
                   {"f32[1,2,5,4] f32[1,3,5,2]:-2..2", "mode=bicubic", 16},
                   {"f32[2,2,5,4] f32[2,3,3,2]:-2..2", "mode=cubic padding_mode=border align_corners=1", 22},
                   {"f32[1,1,5,4] f32[1,3,5,2]:-2.5..2.5", "mode=cubic padding_mode=reflection", 20},
                   {"f32[1,2,3,4,5] f32[1,2,3,2,3]:-1.3..1.3", "", 20},
                   {"f32[2,2,3,2,3] f32[2,2,1,2,3]:-2..2", "padding_mode=reflection align_corners=1", 22},
                   {"f32[1,2,3,4,5] f32[1,2,3,2,3]:-1.3..1.3", "mode=nearest", 20},
                   {"f32[1,1,3,4,2] f32[1,2,2,2,3]:-1.3..1.3", "mode=cubic padding_mode=border", 20}),
};
