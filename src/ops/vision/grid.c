/* The checks of GridSample, and the neighbours of its points. */
#include "ops/vision/grid.h"
#include "graph/dims.h"
#include "graph/work.h"

#include <math.h>

enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

/* One dim: at most four neighbours; the index is -1 outside of the picture. */
typedef struct Line {
  int count;
  int64_t index[4];
  float weight[4], slope[4];
} Line;

static Status read_rule(const Node *n, Grid *g) {
  static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic"};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  TRY(node_choice(n, "mode", modes[LINEAR], modes, 5, &g->mode));
  TRY(node_choice(n, "padding_mode", paddings[ZEROS], paddings, 3, &g->padding));
  if (g->mode > CUBIC) g->mode = g->mode == 3 ? LINEAR : CUBIC;
  g->align_corners = node_int(n, "align_corners", 0) != 0;
  return STATUS_OK;
}

static Status read_shapes(const Node *n, int at, Shape *y) {
  const Shape *x = &n->in[at]->shape, *grid = &n->in[at + 1]->shape;
  char sx[SHAPE_TEXT], sg[SHAPE_TEXT];
  TRY(node_want_float(n, at));
  TRY(node_want_float(n, at + 1));
  TRY(node_want_rank(n, at, 4, 5));
  int last = x->rank - 1;
  if (grid->rank != x->rank || !dims_meet(grid->dim[last], x->rank - 2) || !dims_meet(x->dim[0], grid->dim[0]))
    return node_invalid(n, "X is %s and the grid %s, which do not fit", shape_print(x, sx), shape_print(grid, sg));
  for (int i = 2; i <= last; i++)
    if (x->dim[i] == 0) return node_invalid(n, "X is %s: there is nothing to sample", shape_print(x, sx));
  *y = *x;
  for (int i = 2; i <= last; i++) y->dim[i] = grid->dim[i - 1];
  return STATUS_OK;
}

Status grid_read(Node *n, int at, Shape *y, Grid **out) {
  Grid g = {.rank = n->in[at]->shape.rank - 2};
  const Shape *x = &n->in[at]->shape;
  *out = NULL;
  TRY(read_shapes(n, at, y));
  TRY(read_rule(n, &g));
  if (!shape_is_concrete(x) || !shape_is_concrete(y)) return STATUS_OK;
  if (!(*out = NODE_PARAMS(n, Grid))) return STATUS_OUT_OF_MEMORY;
  g.batch = (size_t)x->dim[0];
  g.channels = (size_t)x->dim[1];
  g.points = shape_span(y, 2, y->rank);
  g.in[2] = 1;
  for (int a = 0; a < g.rank; a++) g.in[a] = (size_t)x->dim[2 + a];
  **out = g;
  return STATUS_OK;
}

/* Mirrored at low and high until it lies between them; *sign turns with every mirror. */
static float reflected(float x, float low, float high, float *sign) {
  float span = high - low, from = x - low;
  if (span <= 0) return *sign = 0, 0.0f;
  if (from < 0) from = -from, *sign = -*sign;
  float rest = fmodf(from, span);
  if (fmodf(floorf(from / span), 2) == 0) return low + rest;
  *sign = -*sign;
  return high - rest;
}

/* Applies the padding mode to x. Multiplies *slope by the derivative of that. */
static float padded(const Grid *g, float x, size_t size, float *slope) {
  float last = (float)size - 1;
  if (g->padding == ZEROS) return x;
  if (g->padding == REFLECTION)
    x = g->align_corners ? reflected(x, 0, last, slope) : reflected(x, -0.5f, last + 0.5f, slope);
  if (x > 0 && x < last) return x;
  return *slope = 0, x <= 0 ? 0 : x >= last ? last : x;
}

static int64_t within(float x, size_t size) { return x >= 0 && x < (float)size ? (int64_t)x : -1; }

static float near_cubic(float x) { return (1.25f * x - 2.25f) * x * x + 1; } /* a = -0.75 */
static float far_cubic(float x) { return ((-0.75f * x + 3.75f) * x - 6) * x + 3; }
static float near_cubic_slope(float x) { return (3.75f * x - 4.5f) * x; }
static float far_cubic_slope(float x) { return (-2.25f * x + 7.5f) * x - 6; }

static void cubic_line(const Grid *g, float x, size_t size, float scale, Line *l) {
  float low = floorf(x), f = x - low;
  *l = (Line){4,
              {0},
              {far_cubic(f + 1), near_cubic(f), near_cubic(1 - f), far_cubic(2 - f)},
              {scale * far_cubic_slope(f + 1), scale * near_cubic_slope(f), -scale * near_cubic_slope(1 - f),
               -scale * far_cubic_slope(2 - f)}};
  for (int k = 0; k < 4; k++) {
    float slope = 1; /* the neighbours are looked up elsewhere, their weights are the same */
    l->index[k] = within(padded(g, low - 1 + (float)k, size, &slope), size);
  }
}

/* u is -1 at the picture's one end and 1 at the other: the middles of the outer pixels with align_corners, else their
 * edges. */
static float pixel_of(const Grid *g, float u, size_t size) {
  float x = g->align_corners ? (u + 1) / 2 * ((float)size - 1) : ((u + 1) * (float)size - 1) / 2;
  return fabsf(x) < 1e9f ? x : -1e9f; /* NaN too */
}

static void line_of(const Grid *g, float u, size_t size, Line *l) {
  float last = (float)size - 1, scale = (g->align_corners ? last : (float)size) / 2, x = pixel_of(g, u, size);
  if (g->mode == CUBIC) return cubic_line(g, x, size, scale, l);
  x = padded(g, x, size, &scale);
  if (g->mode == NEAREST) {
    *l = (Line){1, {within(nearbyintf(x), size)}, {1}, {0}};
  } else {
    float low = floorf(x), f = x - low;
    *l = (Line){2, {within(low, size), within(low + 1, size)}, {1 - f, f}, {-scale, scale}};
  }
}

void grid_taps(const Grid *g, const float *point, bool slopes, GridTaps *taps) {
  Line line[GRID_RANK] = {[0 ... GRID_RANK - 1] = {1, {0}, {1}, {0}}};
  taps->count = 0;
  for (int a = 0; a < g->rank; a++) line_of(g, point[g->rank - 1 - a], g->in[a], &line[a]);
  for (int i = 0; i < line[0].count; i++)
    for (int j = 0; j < line[1].count; j++)
      for (int k = 0; k < line[2].count; k++) {
        if (line[0].index[i] < 0 || line[1].index[j] < 0 || line[2].index[k] < 0) continue;
        int t = taps->count++, at[GRID_RANK] = {i, j, k};
        taps->offset[t] = ((size_t)line[0].index[i] * g->in[1] + (size_t)line[1].index[j]) * g->in[2] +
                          (size_t)line[2].index[k];
        taps->weight[t] = line[0].weight[i] * line[1].weight[j] * line[2].weight[k];
        for (int a = 0; a < g->rank && slopes; a++) {
          float slope = 1;
          for (int b = 0; b < g->rank; b++) slope *= b == a ? line[b].slope[at[b]] : line[b].weight[at[b]];
          taps->slope[g->rank - 1 - a][t] = slope;
        }
      }
}

/* Four pixels that are all there, as most of linear interpolation in two dimensions are. */
static bool four_near(const Grid *g, const float *point, size_t *offset, float *weight) {
  float slope, y = padded(g, pixel_of(g, point[1], g->in[0]), g->in[0], &slope), top = floorf(y),
               x = padded(g, pixel_of(g, point[0], g->in[1]), g->in[1], &slope), left = floorf(x);
  if (!(top >= 0 && top + 1 < (float)g->in[0] && left >= 0 && left + 1 < (float)g->in[1])) return false;
  size_t first = (size_t)top * g->in[1] + (size_t)left;
  y -= top, x -= left;
  offset[0] = first, offset[1] = first + 1, offset[2] = first + g->in[1], offset[3] = first + g->in[1] + 1;
  weight[0] = (1 - y) * (1 - x), weight[1] = (1 - y) * x, weight[2] = y * (1 - x), weight[3] = y * x;
  return true;
}

int grid_near(const Grid *g, const float *point, size_t *offset, float *weight) {
  GridTaps taps;
  if (g->rank == 2 && g->mode == LINEAR && four_near(g, point, offset, weight)) return 4;
  grid_taps(g, point, false, &taps);
  for (int k = 0; k < taps.count; k++) offset[k] = taps.offset[k], weight[k] = taps.weight[k];
  return taps.count;
}

double grid_work(const Node *n) { return work_moved(n) * WORK_PLACE; }
