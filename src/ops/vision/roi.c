/* The checks of RoiAlign, and where it looks. */
#include "ops/vision/roi.h"

#include <math.h>

#include "graph/dims.h"
#include "ops/index/index.h"
#include "graph/work.h"

enum { SAMPLES_MAX = 4096 }; /* along one dim of a bin: more pixels than a picture has */

static Status read_rule(const Node *n, int opset, RoiAlign *r) {
  static const char *const modes[] = {"avg", "max"}, *const places[] = {"half_pixel", "output_half_pixel"};
  int mode, place;
  TRY(node_choice(n, "mode", modes[0], modes, 2, &mode));
  TRY(node_choice(n, "coordinate_transformation_mode", places[opset < 16], places, 2, &place));
  int64_t height = node_int(n, "output_height", 1), width = node_int(n, "output_width", 1),
          ratio = node_int(n, "sampling_ratio", 0);
  if (height < 1 || width < 1 || height > 1 << 16 || width > 1 << 16 || ratio < 0 || ratio > SAMPLES_MAX)
    return node_invalid(n, "output_height, output_width and sampling_ratio are %lld, %lld and %lld", (long long)height,
                        (long long)width, (long long)ratio);
  *r = (RoiAlign){.max = mode == 1,
                  .half_pixel = place == 0,
                  .ratio = ratio,
                  .scale = node_float(n, "spatial_scale", 1),
                  .out = {(size_t)height, (size_t)width}};
  return STATUS_OK;
}

Status roi_read(Node *n, int at, Shape *y, RoiAlign **out) {
  RoiAlign r;
  *out = NULL;
  TRY(node_want_float(n, at));
  TRY(node_want_float(n, at + 1));
  TRY(node_want_index(n, at + 2));
  TRY(node_want_rank(n, at, 4, 4));
  TRY(node_want_rank(n, at + 1, 2, 2));
  TRY(node_want_rank(n, at + 2, 1, 1));
  TRY(read_rule(n, graph_opset(n->graph, ""), &r));
  const Shape *x = &n->in[at]->shape, *rois = &n->in[at + 1]->shape;
  Dim indices = n->in[at + 2]->shape.dim[0];
  if (!dims_meet(rois->dim[1], 4) || !dims_meet(indices, rois->dim[0]))
    return node_invalid(n, "rois must be (count, 4), with as many batch_indices");
  if (x->dim[2] == 0 || x->dim[3] == 0) return node_invalid(n, "X has no pixels");
  *y = SHAPE(rois->dim[0], x->dim[1], (Dim)r.out[0], (Dim)r.out[1]);
  if (!shape_is_concrete(x) || !shape_is_concrete(rois)) return STATUS_OK;
  if (!(*out = NODE_PARAMS(n, RoiAlign))) return STATUS_OUT_OF_MEMORY;
  r.batch = (size_t)x->dim[0], r.channels = (size_t)x->dim[1], r.rois = (size_t)rois->dim[0];
  r.in[0] = (size_t)x->dim[2], r.in[1] = (size_t)x->dim[3];
  **out = r;
  return STATUS_OK;
}

/* The most samples of a bin: as many as it has pixels. In a bin larger than two pictures, samples outside need not be
 * distinguished. */
size_t roi_most_samples(const RoiAlign *r, int a) {
  size_t most = 2 * r->in[a] + 2;
  return r->ratio ? (size_t)r->ratio : most < SAMPLES_MAX ? most : SAMPLES_MAX;
}

RoiBox roi_box(const RoiAlign *r, const Value *rois, const Value *batch_indices, size_t i) {
  const float *roi = (const float *)rois->data + i * 4;
  int64_t batch = index_wrap(index_at(batch_indices, i), (int64_t)r->batch);
  RoiBox b = {.batch = batch < 0 ? 0 : (size_t)batch};
  for (int a = 0; a < 2; a++) {
    float shift = r->half_pixel ? 0.5f : 0;
    float start = roi[1 - a] * r->scale - shift, size = roi[3 - a] * r->scale - shift - start;
    if (!r->half_pixel && !(size >= 1)) size = 1;
    b.start[a] = start;
    b.bin[a] = size / (float)r->out[a];
    float samples = r->ratio ? (float)r->ratio : ceilf(b.bin[a]);
    size_t most = roi_most_samples(r, a);
    b.samples[a] = samples > 0 ? samples < (float)most ? (size_t)samples : most : 0;
  }
  return b;
}

/* The two pixels around x, a sample's place along one dim; false when it lies off the picture by more than one. */
static bool around(float x, size_t size, size_t index[2], float weight[2]) {
  if (!(x >= -1 && x <= (float)size)) return false;
  if (x < 0) x = 0;
  size_t low = (size_t)x;
  bool last = low + 1 >= size;
  index[0] = last ? size - 1 : low;
  index[1] = last ? size - 1 : low + 1;
  weight[1] = last ? 0 : x - (float)low;
  weight[0] = 1 - weight[1];
  return true;
}

RoiSample roi_sample(const RoiAlign *r, const RoiBox *b, size_t bin, size_t s) {
  size_t bins[2] = {bin / r->out[1], bin % r->out[1]}, at[2] = {s / b->samples[1], s % b->samples[1]}, index[2][2];
  float weight[2][2];
  RoiSample sample = {0};
  for (int a = 0; a < 2; a++) {
    float place = b->start[a] + (float)bins[a] * b->bin[a] + ((float)at[a] + 0.5f) * b->bin[a] / (float)b->samples[a];
    if (!around(place, r->in[a], index[a], weight[a])) return sample;
  }
  for (int k = 0; k < 4; k++) {
    sample.offset[k] = index[0][k / 2] * r->in[1] + index[1][k % 2];
    sample.weight[k] = weight[0][k / 2] * weight[1][k % 2];
  }
  sample.count = 4;
  return sample;
}

double roi_align_work(const Node *n) {
  const RoiAlign *r = n->params;
  double bins = (double)r->rois * (double)r->out[0] * (double)r->out[1], samples = (double)r->ratio * (double)r->ratio;
  if (!r->ratio) samples = (double)roi_most_samples(r, 0) * (double)roi_most_samples(r, 1);
  return bins * samples * (WORK_PLACE + 4 * (double)r->channels);
}
