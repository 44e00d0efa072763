/* GridSample: X read at the points of a grid, between its pixels: of the nearest, by linear or cubic interpolation. */
#include "ops/vision/grid.h"
#include "threads.h"

static Status grid_sample_infer(Node *n) {
  Shape y;
  Grid *g;
  TRY(grid_read(n, 0, &y, &g));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* The neighbours of points that follow each other, found once for all channels: of point p as far as end[p]. */
enum { NEAR_POINTS = 256, NEAR_MOST = 1024 };
typedef struct Near {
  size_t points, end[NEAR_POINTS];
  size_t offset[NEAR_MOST];
  float weight[NEAR_MOST];
} Near;

/* Finds the neighbours of as many points as there is room for. */
static void find_near(const Grid *g, const float *grid, size_t points, Near *near) {
  size_t at = 0;
  if (points > NEAR_POINTS) points = NEAR_POINTS;
  for (near->points = 0; near->points < points && at + GRID_TAPS <= NEAR_MOST; grid += g->rank) {
    at += (size_t)grid_near(g, grid, near->offset + at, near->weight + at);
    near->end[near->points++] = at;
  }
}

/* One channel at the points. Mostly they have four neighbours, as linear interpolation finds within a picture. */
static void sample_channel(const Near *near, const float *x, float *y) {
  size_t k = 0;
  for (size_t p = 0; p < near->points; p++) {
    const size_t *at = near->offset + k;
    const float *of = near->weight + k;
    if (near->end[p] - k == 4) {
      y[p] = of[0] * x[at[0]] + of[1] * x[at[1]] + of[2] * x[at[2]] + of[3] * x[at[3]];
      k += 4;
      continue;
    }
    float sum = 0;
    for (; k < near->end[p]; k++) sum += near->weight[k] * x[near->offset[k]];
    y[p] = sum;
  }
}

static void sample_points(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Grid *g = n->params;
  Near near;
  for (size_t at = from; at < to; at += near.points) {
    size_t first = at / g->points * g->channels, place = at % g->points, left = g->points - place;
    find_near(g, in_f32(n, 1) + at * (size_t)g->rank, to - at < left ? to - at : left, &near);
    for (size_t c = first; c < first + g->channels; c++)
      sample_channel(&near, in_f32(n, 0) + c * grid_pixels(g), out_f32(n, 0) + c * g->points + place);
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
    .cases = CASES({"f32[2,3,4,5] f32[2,3,2,2]:-1.4..1.4", "", 16}, {"f32[1,2,3,3] f32[1,5,60,2]:-1.4..1.4", "", 16},
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
