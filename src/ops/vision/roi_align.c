/* RoiAlign: each region of interest cut out of X and brought to one size, its bins sampled between the pixels and
 * averaged. */
#include <math.h>

#include "ops/index/index.h"
#include "ops/vision/roi.h"
#include "threads.h"

static Status roi_align_infer(Node *n) {
  Shape y;
  RoiAlign *r;
  TRY(roi_read(n, 0, &y, &r));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

enum { BLOCK = 32 }; /* samples whose places are worked out once for all channels */

static float sum_of(const RoiSample *samples, size_t count, const float *x) {
  float sum = 0;
  for (const RoiSample *s = samples; s < samples + count; s++)
    if (s->count)
      sum += (s->weight[0] * x[s->offset[0]] + s->weight[1] * x[s->offset[1]]) +
             (s->weight[2] * x[s->offset[2]] + s->weight[3] * x[s->offset[3]]);
  return sum;
}

static float most_of(const RoiSample *samples, size_t count, const float *x, float most) {
  for (const RoiSample *s = samples; s < samples + count; s++) {
    if (!s->count && most < 0) most = 0;
    for (int k = 0; k < s->count; k++)
      if (s->weight[k] * x[s->offset[k]] > most) most = s->weight[k] * x[s->offset[k]];
  }
  return most;
}

/* One bin in every channel. */
static void run_bin(const RoiAlign *r, const RoiBox *box, size_t bin, const float *x, float *y) {
  size_t all = roi_samples(box), bins = r->out[0] * r->out[1], pixels = r->in[0] * r->in[1];
  RoiSample samples[BLOCK];
  for (size_t c = 0; c < r->channels; c++) y[c * bins] = r->max && all ? -INFINITY : 0;
  for (size_t from = 0; from < all; from += BLOCK) {
    size_t count = all - from < BLOCK ? all - from : BLOCK;
    for (size_t s = 0; s < count; s++) samples[s] = roi_sample(r, box, bin, from + s);
    for (size_t c = 0; c < r->channels; c++)
      y[c * bins] = r->max ? most_of(samples, count, x + c * pixels, y[c * bins])
                           : y[c * bins] + sum_of(samples, count, x + c * pixels);
  }
  for (size_t c = 0; c < r->channels && !r->max && all; c++) y[c * bins] /= (float)all;
}

static void run_rois(void *context, size_t from, size_t to) {
  const Node *n = context;
  const RoiAlign *r = n->params;
  size_t bins = r->out[0] * r->out[1];
  for (size_t roi = from; roi < to; roi++) {
    RoiBox box = roi_box(r, n->in[1], n->in[2], roi);
    float *y = out_f32(n, 0) + roi * r->channels * bins;
    const float *x = in_f32(n, 0) + box.batch * r->channels * r->in[0] * r->in[1];
    for (size_t bin = 0; bin < bins; bin++) run_bin(r, &box, bin, x, y + bin);
  }
}

static void roi_align_run(const Node *n) {
  const RoiAlign *r = n->params;
  if (!index_all_within(n, 2, (int64_t)r->batch - 1)) return;
  threads_split(r->rois, threads_grain(16 * r->channels * r->out[0] * r->out[1]), run_rois, (void *)n);
}

/* No gradient flows to the regions, as in torchvision. */
static Status roi_align_grad(Grad *g) {
  Node *n = g->node;
  AttrList attrs = {n->attrs, n->attr_count};
  if (g->want[0]) g->dx[0] = emit_with(g->graph, "RoiAlignGrad", attrs, g->dy[0], n->in[0], n->in[1], n->in[2]);
  return STATUS_OK;
}

OPERATOR(roi_align) = {
    .name = "RoiAlign",
    .since = {10, 16, 22},
    .inputs = {3, 3},
    .infer = roi_align_infer,
    .run = roi_align_run,
    .grad = GRADIENT(roi_align_grad),
    .work = roi_align_work,
    .cases = CASES(
        {"f32[2,3,8,9] f32[3,4]=1,0.5,6,5.5,-3,-2,3,7,4,4,12,11 i64[3]=0,1,1",
         "output_height=2 output_width=3 sampling_ratio=2", 16},
        {"f32[2,2,7,6] f32[2,4]=2,1,9,13,3,3,3.5,3 i64[2]=1,0", "output_height=3 output_width=2 spatial_scale=0.5", 10},
        {"f32[2,2,7,6] f32[2,4]=2,1,9,13,-4,-3,8,7 i32[2]=1,0",
         "output_height=2 output_width=2 spatial_scale=0.5 coordinate_transformation_mode=output_half_pixel", 22},
        {"f32[1,2,8,7]:0.1..1 f32[2,4]=1.3,0.7,6,6.2,0,0,3,3 i64[2]=0,0",
         "mode=max output_height=2 output_width=2 sampling_ratio=3", 16},
        {"f32[1,2,4,4]:-2..-0.5 f32[2,4]=-3,-3,3,3,1,1,6,6 i64[2]=0,0",
         "mode=max output_height=2 output_width=2 sampling_ratio=3", 16},
        {"f32[1,2,4,4]:0.1..0.9 f32[2,4]=-3,-3,3,3,1,1,6,6 i64[2]=0,0",
         "mode=max output_height=1 output_width=2 sampling_ratio=4", 16}),
};
