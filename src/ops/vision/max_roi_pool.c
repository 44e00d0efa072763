/* MaxRoiPool: regions of interest cut out of X in whole pixels, each divided into bins of which the largest pixel is
 * taken; 0 for an empty one. Output 1, which ONNX has not, is where in X they stood.  dX = dy there. */
#include <math.h>

#include "graph/second_output.h"
#include "graph/op.h"
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
  for (size_t i = rows.from; i < rows.to; i++)
    for (size_t j = columns.from; j < columns.to; j++)
      if (best == SIZE_MAX || x[i * width + j] > x[best] || isnan(x[i * width + j])) best = i * width + j;
  return best;
}

static void run_rois(void *context, size_t from, size_t to) {
  const Node *n = context;
  const RoiPool *p = n->params;
  size_t bins = p->out[0] * p->out[1], pixels = p->in[0] * p->in[1];
  for (size_t i = from * p->channels * bins; i < to * p->channels * bins; i++) {
    const float *roi = in_f32(n, 1) + i / bins / p->channels * 5;
    bool there = roi[0] >= 0 && roi[0] < (float)p->batch;
    size_t plane = there ? ((size_t)roi[0] * p->channels + i / bins % p->channels) * pixels : 0, bin = i % bins;
    size_t best = there ? largest(in_f32(n, 0) + plane, p->in[1], span_of(p, roi, 0, bin / p->out[1]),
                                  span_of(p, roi, 1, bin % p->out[1]))
                        : SIZE_MAX;
    out_f32(n, 0)[i] = !there           ? NAN
                     : best == SIZE_MAX ? 0
                                        : in_f32(n, 0)[plane + best]; /* NaN: so that the loss shows it */
    if (has_out(n, 1)) ((int64_t *)n->out[1]->data)[i] = best == SIZE_MAX ? INT64_MAX : (int64_t)(plane + best);
  }
}

static void max_roi_pool_run(const Node *n) {
  const RoiPool *p = n->params;
  threads_split((size_t)n->in[1]->shape.dim[0], threads_grain(8 * p->channels * p->out[0] * p->out[1]), run_rois,
                (void *)n);
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
