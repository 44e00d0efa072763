/* MaxRoiPool: regions of interest cut out of X in whole pixels, each divided into bins of which the largest pixel is
 * taken; 0 for an empty one. Output 1, which ONNX has not, is where in X they stood.  dX = dy there. */
#include <math.h>

#include "graph/bad_index.h"
#include "graph/second_output.h"
#include "kernels/vector_math.h"
#include "size.h"
#include "threads.h"

typedef struct RoiPool {
  size_t batch, channels, in[2], out[2];
  float scale;
} RoiPool;

static Status max_roi_pool_infer(Node *n) {
  const Shape *x = &n->in[0]->shape, *rois = &n->in[1]->shape;
  int count;
  const int64_t *size = node_ints(n, "pooled_shape", &count);
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(node_want_rank(n, 0, 4, 4));
  TRY(node_want_rank(n, 1, 2, 2));
  if (count != 2 || size[0] < 1 || size[1] < 1 || size[0] > 1 << 16 || size[1] > 1 << 16)
    return node_invalid(n, "pooled_shape must be two sizes from 1 to 65536");
  if (rois->dim[1] != 5) return node_invalid(n, "rois must be (count, 5): the picture and two corners");
  Shape y = SHAPE(rois->dim[0], x->dim[1], size[0], size[1]);
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  TRY(node_output(n, 1, DTYPE_INT64, &y));
  if (!node_is_concrete(n)) return STATUS_OK;
  RoiPool *p = NODE_PARAMS(n, RoiPool);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (RoiPool){(size_t)x->dim[0],
                 (size_t)x->dim[1],
                 {(size_t)x->dim[2], (size_t)x->dim[3]},
                 {(size_t)size[0], (size_t)size[1]},
                 node_float(n, "spatial_scale", 1)};
  return STATUS_OK;
}

/* Pixels from … to - 1 of a bin, within the picture. */
typedef struct Span {
  size_t from, to;
} Span;

static Span span_of(const RoiPool *p, const float *roi, int a, size_t bin) {
  float start = roundf(roi[2 - a] * p->scale), end = roundf(roi[4 - a] * p->scale),
        size = end - start + 1 > 1 ? end - start + 1 : 1;
  float each = size / (float)p->out[a], from = floorf((float)bin * each) + start,
        to = ceilf((float)(bin + 1) * each) + start, last = (float)p->in[a];
  return (Span){from > 0 ? from < last ? (size_t)from : p->in[a] : 0, to > 0 ? to < last ? (size_t)to : p->in[a] : 0};
}

/* The offset of the largest pixel, SIZE_MAX in an empty bin; NaN wins. */
static size_t largest(const float *x, size_t width, Span rows, Span columns) {
  size_t best = SIZE_MAX;
  float top = 0;
  for (size_t i = rows.from; i < rows.to; i++)
    for (size_t j = columns.from; j < columns.to; j++) {
      float at = x[i * width + j];
      if (best == SIZE_MAX || at > top || at != at) top = at, best = i * width + j;
    }
  return best;
}

/* The largest pixel itself, 0 in an empty bin; four at a time, the first of them again behind the last. */
static float largest_value(const float *x, size_t width, Span rows, Span columns) {
  if (rows.from >= rows.to || columns.from >= columns.to) return 0;
  f32x4 top = f32x4_splat(-INFINITY);
  for (size_t i = rows.from; i < rows.to; i++)
    for (size_t j = columns.from; j < columns.to; j += 4) {
      f32x4 at = f32x4_load_up_to(x + i * width + j, columns.to - j);
      top = f32x4_select((at > top) | (at != at), at, top);
    }
  float best = top[0];
  for (int k = 1; k < 4; k++)
    if (top[k] > best || top[k] != top[k]) best = top[k];
  return best;
}

/* Some rows and columns of bins, which the planes of a region have in common. */
enum { BINS = 32 };
typedef struct Bins {
  size_t row, column, rows, columns;
  Span down[BINS], across[BINS];
} Bins;

static Bins bins_of(const RoiPool *p, const float *roi, size_t row, size_t column) {
  Bins b = {row, column, size_min(BINS, p->out[0] - row), size_min(BINS, p->out[1] - column), {{0}}, {{0}}};
  for (size_t i = 0; i < b.rows; i++) b.down[i] = span_of(p, roi, 0, row + i);
  for (size_t i = 0; i < b.columns; i++) b.across[i] = span_of(p, roi, 1, column + i);
  return b;
}

/* Pools the plane that starts at `start` in X; `to` is the start of its bins in Y. */
static void bins_run(const Node *n, const Bins *b, size_t start, size_t to) {
  const RoiPool *p = n->params;
  const float *x = in_f32(n, 0) + start;
  for (size_t i = 0; i < b->rows; i++)
    for (size_t j = 0; j < b->columns; j++) {
      size_t at = to + (b->row + i) * p->out[1] + b->column + j;
      if (!has_out(n, 1)) {
        out_f32(n, 0)[at] = largest_value(x, p->in[1], b->down[i], b->across[j]);
        continue;
      }
      size_t best = largest(x, p->in[1], b->down[i], b->across[j]);
      out_f32(n, 0)[at] = best == SIZE_MAX ? 0 : x[best];
      ((int64_t *)n->out[1]->data)[at] = best == SIZE_MAX ? INT64_MAX : (int64_t)(start + best);
    }
}

static void run_rois(void *context, size_t from, size_t to) {
  const Node *n = context;
  const RoiPool *p = n->params;
  size_t bins = p->out[0] * p->out[1], pixels = p->in[0] * p->in[1];
  for (size_t r = from; r < to; r++) {
    const float *roi = in_f32(n, 1) + r * 5;
    for (size_t row = 0; row < p->out[0]; row += BINS)
      for (size_t column = 0; column < p->out[1]; column += BINS) {
        Bins b = bins_of(p, roi, row, column);
        for (size_t c = 0; c < p->channels; c++)
          bins_run(n, &b, ((size_t)roi[0] * p->channels + c) * pixels, (r * p->channels + c) * bins);
      }
  }
}

static void max_roi_pool_run(const Node *n) {
  const RoiPool *p = n->params;
  size_t rois = (size_t)n->in[1]->shape.dim[0];
  for (size_t r = 0; r < rois; r++)
    if (!(in_f32(n, 1)[r * 5] >= 0 && in_f32(n, 1)[r * 5] < (float)p->batch))
      return bad_index_note(n, 1, r * 5, 0, (int64_t)p->batch - 1);
  threads_split(rois, threads_grain(8 * p->channels * p->out[0] * p->out[1]), run_rois, (void *)n);
}

/* Places behind the end, of empty bins, are left out. */
static Status max_roi_pool_grad(Grad *g) {
  Node *n = g->node;
  Value *shape = emit_shape(g->graph, n->in[0]),
        *size = emit(g->graph, "Reshape", emit(g->graph, "Size", n->in[0]), emit_ints(g->graph, (int64_t[]){1}, 1));
  TRY(second_output_want(n, "indices"));
  if (g->want[0]) g->dx[0] = emit(g->graph, "Reshape", emit(g->graph, "GatherGrad", size, n->out[1], g->dy[0]), shape);
  return STATUS_OK;
}

/* The bins of a region overlap by a pixel. */
static double max_roi_pool_work(const Node *n) {
  const Dim *x = n->in[0]->shape.dim, *y = n->out[0]->shape.dim;
  return (double)y[0] * (double)y[1] * ((double)x[2] + 2 * (double)y[2]) * ((double)x[3] + 2 * (double)y[3]);
}

OPERATOR(max_roi_pool) = {
    .name = "MaxRoiPool",
    .since = {1, 22},
    .inputs = {2, 2},
    .outputs = {1, 2},
    .infer = max_roi_pool_infer,
    .run = max_roi_pool_run,
    .grad = GRADIENT(max_roi_pool_grad),
    .work = max_roi_pool_work,
    .cases = CASES({"f32[2,3,6,7] f32[3,5]=0,1,1,5,4,1,0,2,3,3,1,4,4,9,9", "pooled_shape=[2,3]", 0, 1},
                   {"f32[1,2,6,7] f32[2,5]=0,2,2,9,8,0,-9,-9,-4,-4", "pooled_shape=[3,2] spatial_scale=0.5", 22, 1}),
};
