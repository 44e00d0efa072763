/* ClipGrad (ours; dY, Y): dx = dy where low < y < high, else 0. The pass `clip_grad` makes it of the gradient of Clip
 * in bound graphs. */
#include "ops/elementwise/arithmetic.h"

static Status clip_grad_infer(Node *n) {
  float *bounds = node_params(n, 2 * sizeof *bounds);
  if (!bounds) return STATUS_OUT_OF_MEMORY;
  bounds[0] = node_float(n, "min", -INFINITY);
  bounds[1] = node_float(n, "max", INFINITY);
  return arithmetic_gradient_infer(n);
}

static f32x4 clip_grad(const Node *n, f32x4 dy, f32x4 y) {
  const float *bounds = n->params;
  i32x4 inside = (y > f32x4_splat(bounds[0])) & (y < f32x4_splat(bounds[1]));
  return f32x4_select(inside, dy, f32x4_splat(0));
}
BROADCAST_ROW_2_LONG(clip_grad_row, clip_grad(n, a, b))

OPERATOR(clip_grad) = {
    .name = "ClipGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 2},
    .flags = OP_OURS,
    .in_place = 1 | 2,
    .infer = clip_grad_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){clip_grad_row},
    .cases = CASES({"f32[2,3] f32[2,3]", "min=-0.5 max=0.5"}, {"f32[7] f32[7]", "min=0.0"},
                   {"f32[4] v:f32[4]=-0.5,0.5,0.25,0.75", "min=-0.5 max=0.5"}),
};
