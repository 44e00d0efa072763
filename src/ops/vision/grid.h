/* Grid: where the points of a sampling grid lie in a picture of two or three dimensions, as its weighted neighbours
 * there.
 *
 *   y[c] = Σ over k of weight[k] · x[c][offset[k]]        ∂y[c] / ∂point[a] = Σ over k of slope[a][k] · x[c][offset[k]]
 */
#pragma once
#include "graph/op.h"

enum { GRID_RANK = 3, GRID_TAPS = 64 };

typedef struct Grid {
  int rank; /* spatial dims */
  int mode, padding;
  bool align_corners;
  size_t batch, channels, points, in[GRID_RANK]; /* points of one picture; in: X's spatial dims */
} Grid;

typedef struct GridTaps {
  int count; /* neighbours within the picture */
  size_t offset[GRID_TAPS];
  float weight[GRID_TAPS],
      slope[GRID_RANK][GRID_TAPS]; /* slope[a]: of the point's number a, of which the first belongs to the last dim */
} GridTaps;

/* X is input x, the grid input x + 1. Gives Y's shape, and the grid when every shape is numbers (NULL otherwise). */
Status grid_read(Node *n, int x, Shape *y, Grid **grid);
void grid_taps(const Grid *g, const float *point, bool slopes, GridTaps *taps);
/* The same, offsets and weights alone: their number, up to GRID_TAPS. */
int grid_near(const Grid *g, const float *point, size_t *offset, float *weight);
static inline size_t grid_pixels(const Grid *g) { return g->in[0] * g->in[1] * g->in[2]; }

double grid_work(const Node *n);
