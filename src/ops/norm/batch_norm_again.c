/* BatchNormAgain (com.trainlet; X, scale, B, mean, inv_std): computes y of BatchNormInternal a second time from what
 * that saved, where the plan dropped y:  y = (x - mean) · inv_std · scale + B */
#include "ops/norm/batch_norm.h"

static Status batch_norm_again_infer(Node *n) {
  Shape channels;
  TRY(batch_norm_check(n, 0, 1, 4, &channels));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

static void run_channels(void *context, size_t from, size_t to) {
  const Node *n = context;
  const float *x = in_f32(n, 0), *scale = in_f32(n, 1), *shift = in_f32(n, 2), *mean = in_f32(n, 3),
              *inv_std = in_f32(n, 4);
  Channel channel = batch_norm_channel(&n->in[0]->shape);
  for (size_t c = from; c < to; c++)
    channel_scale(&channel, x + c * channel.pixels, mean[c], scale[c] * inv_std[c], shift[c],
                  out_f32(n, 0) + c * channel.pixels);
}

static void batch_norm_again_run(const Node *n) { batch_norm_channels(n, 0, run_channels, (void *)n); }

OPERATOR(batch_norm_again) = {
    .name = "BatchNormAgain",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {5, 5},
    .flags = OP_OURS,
    .infer = batch_norm_again_infer,
    .run = batch_norm_again_run,
    .cases = CASES({"f32[2,3,4,5] f32[3] f32[3] f32[3] f32[3]:0.5..2"},
                   {"f32[4,3] f32[3] f32[3] f32[3] f32[3]:0.5..2"}),
};
