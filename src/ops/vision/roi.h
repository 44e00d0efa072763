/* Roi: the places in a picture that RoiAlign samples: a regular grid of them in each bin of a region.
 *
 *   y[roi, c, i, j] = mean over the bin's samples of Σ over k < 4 of weight[k] · x[batch, c][offset[k]]      or the
 * largest product of them all
 */
#pragma once
#include "graph/op.h"

typedef struct RoiAlign {
  bool max, half_pixel;
  int64_t ratio; /* samples of a bin along each dim; 0: as many as it has pixels */
  float scale;
  size_t batch, channels, in[2], out[2], rois;
} RoiAlign;

typedef struct RoiBox {
  size_t batch;
  float start[2], bin[2];
  size_t samples[2];
} RoiBox;

typedef struct RoiSample {
  int count; /* 0: outside of the picture */
  size_t offset[4];
  float weight[4];
} RoiSample;

/* X, rois and batch_indices are inputs x, x + 1 and x + 2. Gives Y's shape, and the parameters when every shape is
 * numbers (NULL otherwise). */
Status roi_read(Node *n, int x, Shape *y, RoiAlign **out);
RoiBox roi_box(const RoiAlign *r, const Value *rois, const Value *batch_indices, size_t i);
/* Sample number s of bin number `bin`, both counted along the rows. */
RoiSample roi_sample(const RoiAlign *r, const RoiBox *box, size_t bin, size_t s);
size_t roi_most_samples(const RoiAlign *r, int a); /* samples of any bin along dim a, at most */
static inline size_t roi_samples(const RoiBox *b) { return b->samples[0] * b->samples[1]; }

double roi_align_work(const Node *n);
