/* LogSoftmax: y = x - log Σ e^x along an axis.  dx = dy - e^y·Σ dy. */
#include "kernels/scratch.h"
#include "ops/softmax/softmax_axis.h"

/* The normalizers of each place. */
static void lay_out(Scratch *s, SoftmaxDims d, float **max, float **log_sum) {
  *max = scratch_take(s, d.outer, d.inner, sizeof(float));
  *log_sum = scratch_take(s, d.outer, d.inner, sizeof(float));
}

static Status log_softmax_infer(Node *n) {
  TRY(softmax_axis_infer(n));
  if (!node_is_concrete(n)) return STATUS_OK;
  Scratch s = {0};
  float *max, *log_sum;
  lay_out(&s, softmax_axis_dims(n), &max, &log_sum);
  if (s.overflow) return node_fail(n, STATUS_OUT_OF_MEMORY, "its input is too large");
  n->scratch_bytes = s.used;
  return STATUS_OK;
}

static void log_softmax_run(const Node *n) {
  SoftmaxDims d = softmax_axis_dims(n);
  Scratch s = {.base = n->scratch};
  float *max, *log_sum;
  lay_out(&s, d, &max, &log_sum);
  softmax_normalizers(d, in_f32(n, 0), max, log_sum);
  log_softmax(d, in_f32(n, 0), max, log_sum, out_f32(n, 0));
}

static Status log_softmax_grad(Grad *g) {
  g->dx[0] = softmax_axis_gradient(g, "LogSoftmaxGrad_13");
  return STATUS_OK;
}

SOFTMAX_FLAT(log_softmax, "LogSoftmax")

OPERATOR(log_softmax) = {
    .name = "LogSoftmax",
    .since = {1, 11, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = log_softmax_infer,
    .run = log_softmax_run,
    .grad = GRADIENT(log_softmax_grad),
    .upgrade = log_softmax_upgrade,
    .cases = CASES({"f32[3,5]"}, {"f32[2,3,5]", "axis=1"}, {"f32[2,7]", "axis=0"}, {"f32[2,3,70]", "axis=1"},
                   {"f32[9]:900..1000"}, {"f32[2,300]:-4..4"}, {"f32[2,3,4]", NULL, 12}, {"f32[2,3,4]", "axis=-1", 12}),
};
