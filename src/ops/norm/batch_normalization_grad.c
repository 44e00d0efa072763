/* BatchNormalizationGrad (com.microsoft): y = x̂ · scale + B, x̂ = (x - mean) · inv_std, with the batch's mean and
 * inv_std.
 *   dB = Σ dy,  dscale = Σ dy · x̂,  dx = scale · inv_std · (dy - dB / n - x̂ · dscale / n) */
#include "ops/norm/batch_norm.h"

static Status batch_normalization_grad_infer(Node *n) {
  Shape channels;
  TRY(node_want_float(n, 0));
  TRY(batch_norm_check(n, 1, 2, 4, &channels));
  const Shape *dy = &n->in[0]->shape, *x = &n->in[1]->shape;
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  if (node_is_concrete(n) && !shape_equal(dy, x))
    return node_invalid(n, "dY is %s, X is %s", shape_print(dy, came), shape_print(x, wanted));
  TRY(node_output(n, 0, DTYPE_FLOAT32, x));
  TRY(node_output(n, 1, DTYPE_FLOAT32, &channels));
  return node_output(n, 2, DTYPE_FLOAT32, &channels);
}

static void run_channels(void *context, size_t from, size_t to) {
  const Node *n = context;
  const float *scale = in_f32(n, 2), *mean = in_f32(n, 3), *inv_std = in_f32(n, 4);
  Channel channel = batch_norm_channel(&n->in[1]->shape);
  double count = (double)channel.batch * (double)channel.pixels;
  for (size_t c = from; c < to; c++) {
    const float *dy = in_f32(n, 0) + c * channel.pixels, *x = in_f32(n, 1) + c * channel.pixels;
    double sum, product;
    channel_sums(&channel, dy, x, mean[c], &sum, &product);
    double dscale = product * inv_std[c];
    if (has_out(n, 1)) out_f32(n, 1)[c] = (float)dscale;
    if (has_out(n, 2)) out_f32(n, 2)[c] = (float)sum;
    if (has_out(n, 0) && count > 0)
      channel_gradient(&channel, dy, x, mean[c], (float)(sum / count), (float)(dscale * inv_std[c] / count),
                       scale[c] * inv_std[c], out_f32(n, 0) + c * channel.pixels);
  }
}

static void batch_normalization_grad_run(const Node *n) { batch_norm_channels(n, 1, run_channels, (void *)n); }

OPERATOR(batch_normalization_grad) = {
    .name = "BatchNormalizationGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {5, 5},
    .outputs = {1, 3},
    .infer = batch_normalization_grad_infer,
    .run = batch_normalization_grad_run,
    .cases = CASES({"f32[3,2,3,4] f32[3,2,3,4] f32[2] f32[2] f32[2]:0.5..2", "", 0, 3},
                   {"f32[2,3,3] f32[2,3,3] f32[3] f32[3] f32[3]:0.5..2"},
                   {"f32[2,3,3] f32[2,3,3] f32[3] f32[3] f32[3]:0.5..2", "", 0, 2},
                   {"f32[1,2] f32[1,2] f32[2] f32[2] f32[2]:0.5..2"}),
};
