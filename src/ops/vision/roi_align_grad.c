/* RoiAlignGrad: from dY, X, rois and batch_indices of a RoiAlign, whose attributes it has: dX, to which dY is handed
 * out where samples were taken. */
#include <math.h>
#include <string.h>

#include "ops/index/index.h"
#include "ops/vision/roi.h"
#include "threads.h"

static Status roi_align_grad_infer(Node *n) {
  Shape y;
  RoiAlign *r;
  TRY(node_want_float(n, 0));
  TRY(roi_read(n, 1, &y, &r));
  if (n->in[0]->shape.rank != 4 || (r && shape_is_concrete(&n->in[0]->shape) && !shape_equal(&y, &n->in[0]->shape)))
    return node_invalid(n, "dY has not the shape of RoiAlign's output");
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

static void add_mean(const RoiAlign *r, const RoiBox *box, size_t bin, float dy, float *dx) {
  size_t samples = roi_samples(box);
  for (size_t s = 0; s < samples; s++) {
    RoiSample at = roi_sample(r, box, bin, s);
    for (int k = 0; k < at.count; k++) dx[at.offset[k]] += at.weight[k] * dy / (float)samples;
  }
}

/* The first of the largest products gets it all. */
static void add_largest(const RoiAlign *r, const RoiBox *box, size_t bin, float dy, const float *x, float *dx) {
  float most = -INFINITY, weight = 0;
  size_t offset = 0;
  for (size_t s = 0; s < roi_samples(box); s++) {
    RoiSample at = roi_sample(r, box, bin, s);
    if (!at.count && most < 0) most = 0, weight = 0;
    for (int k = 0; k < at.count; k++) {
      float part = at.weight[k] * x[at.offset[k]];
      if (part > most) most = part, weight = at.weight[k], offset = at.offset[k];
    }
  }
  dx[offset] += weight * dy;
}

/* Channels from … to - 1 of every region. */
static void run_channels(void *context, size_t from, size_t to) {
  const Node *n = context;
  const RoiAlign *r = n->params;
  size_t bins = r->out[0] * r->out[1], pixels = r->in[0] * r->in[1];
  for (size_t b = 0; b < r->batch; b++)
    memset(out_f32(n, 0) + (b * r->channels + from) * pixels, 0, (to - from) * pixels * sizeof(float));
  for (size_t roi = 0; roi < r->rois; roi++) {
    RoiBox box = roi_box(r, n->in[2], n->in[3], roi);
    for (size_t c = from; c < to; c++) {
      size_t plane = (box.batch * r->channels + c) * pixels;
      const float *x = in_f32(n, 1) + plane, *dy = in_f32(n, 0) + (roi * r->channels + c) * bins;
      float *dx = out_f32(n, 0) + plane;
      for (size_t bin = 0; bin < bins; bin++) {
        if (r->max) add_largest(r, &box, bin, dy[bin], x, dx);
        else add_mean(r, &box, bin, dy[bin], dx);
      }
    }
  }
}

static void roi_align_grad_run(const Node *n) {
  const RoiAlign *r = n->params;
  if (!index_all_within(n, 3, (int64_t)r->batch - 1)) return;
  threads_split(r->channels, threads_grain(r->batch * r->in[0] * r->in[1] + 16 * r->rois * r->out[0] * r->out[1]),
                run_channels, (void *)n);
}

OPERATOR(roi_align_grad) = {
    .name = "RoiAlignGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {4, 4},
    .flags = OP_OURS,
    .infer = roi_align_grad_infer,
    .run = roi_align_grad_run,
    .work = roi_align_work,
    .cases = CASES({"f32[2,3,1,2] f32[2,3,4,5] f32[2,4]=0,0,3,3,1,1,4,2 i64[2]=1,0", "output_width=2"}),
};
