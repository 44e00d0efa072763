/* Softmax: y = e^x / Σ e^x along an axis.  dx = y·(dy - Σ dy·y). */
#include "ops/softmax/softmax_axis.h"

static Status softmax_infer(Node *n) { return softmax_axis_infer(n); }

static void softmax_run(const Node *n) { softmax(softmax_axis_dims(n), in_f32(n, 0), out_f32(n, 0)); }

static Status softmax_grad(Grad *g) {
  g->dx[0] = softmax_axis_gradient(g, "SoftmaxGrad_13");
  return STATUS_OK;
}

SOFTMAX_FLAT(softmax, "Softmax")

OPERATOR(softmax) = {
    .name = "Softmax",
    .since = {1, 11, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = softmax_infer,
    .run = softmax_run,
    .grad = GRADIENT(softmax_grad),
    .upgrade = softmax_upgrade,
    .cases = CASES({"f32[3,5]"}, {"f32[2,3,4]", "axis=1"}, {"f32[2,7]", "axis=0"}, {"f32[2,3,70]", "axis=1"},
                   {"f32[9]:90..110"}, {"f32[2,300]:-4..4"}, {"f32[2,3,4]", NULL, 12}, {"f32[2,3,4]", "axis=-1", 12},
                   {"f32[2,3]", "axis=0", 12}, {"f32[0,3]"}),
};
