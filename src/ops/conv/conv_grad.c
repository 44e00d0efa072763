/* ConvGrad (com.microsoft): dx, dw and db of Conv from dy, x and w; an output that nobody wants is not computed. */
#include "ops/conv/conv.h"
#include "simd.h"
#include "threads.h"

static Status conv_grad_infer(Node *n) {
  WindowAttrs attrs;
  Shape y;
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  TRY(conv_shapes(n, 1, 2, &y, &attrs));
  TRY(node_want_float(n, 0));
  const Shape *dy = &n->in[0]->shape, *x = &n->in[1]->shape, *w = &n->in[2]->shape;
  bool numbers = node_is_concrete(n);
  Shape bias = SHAPE(w->dim[0]);
  if (dy->rank != y.rank || (numbers && !shape_equal(dy, &y)))
    return node_invalid(n, "dY is %s, Conv of these inputs gives %s", shape_print(dy, came), shape_print(&y, wanted));
  TRY(node_output(n, 0, DTYPE_FLOAT32, x));
  TRY(node_output(n, 1, DTYPE_FLOAT32, w));
  TRY(node_output(n, 2, DTYPE_FLOAT32, &bias));
  if (!numbers) return STATUS_OK;
  Conv3d *conv = NODE_PARAMS(n, Conv3d);
  if (!conv) return STATUS_OUT_OF_MEMORY;
  *conv = conv_of(n, x, w, &y, &attrs);
  size_t dx_bytes = 0, dw_bytes = 0;
  if (has_out(n, 0)) TRY(conv_check_variant(n, conv, CONV_INPUT));
  if (has_out(n, 1)) TRY(conv_check_variant(n, conv, CONV_WEIGHTS));
  if ((has_out(n, 0) && !conv3d_input_gradient_bytes(conv, &dx_bytes)) ||
      (has_out(n, 1) && !conv3d_weight_gradient_bytes(conv, &dw_bytes)))
    return node_fail(n, STATUS_OUT_OF_MEMORY, "its images are too large");
  n->scratch_bytes = dx_bytes > dw_bytes ? dx_bytes : dw_bytes;
  return STATUS_OK;
}

/* db[f] = Σ dy[n, f, …] */
static void bias_gradient(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Conv3d *conv = n->params;
  size_t pixels = conv3d_out(conv);
  for (size_t f = from; f < to; f++) {
    f32x4 fours = f32x4_splat(0);
    float rest = 0;
    for (size_t image = 0; image < conv->batch; image++) {
      const float *plane = in_f32(n, 0) + (image * conv->features + f) * pixels;
      size_t i = 0;
      for (; i + 4 <= pixels; i += 4) fours += f32x4_load(plane + i);
      for (; i < pixels; i++) rest += plane[i];
    }
    out_f32(n, 2)[f] = f32x4_sum(fours) + rest;
  }
}

static void conv_grad_run(const Node *n) {
  const Conv3d *conv = n->params;
  const float *dy = in_f32(n, 0), *x = in_f32(n, 1), *w = in_f32(n, 2);
  if (has_out(n, 0)) conv3d_input_gradient(conv, dy, w, out_f32(n, 0), n->scratch);
  if (has_out(n, 1)) conv3d_weight_gradient(conv, x, dy, out_f32(n, 1), n->scratch);
  if (has_out(n, 2))
    threads_split(conv->features, threads_grain(conv->batch * conv3d_out(conv) / 4), bias_gradient, (void *)n);
}

/* dx is computed from dy and w, dw from dy and x, db from dy. */
static bool conv_grad_reads(const Node *n, int input) { return input == 0 || has_out(n, input == 1 ? 1 : 0); }

static double conv_grad_work(const Node *n) { return 2 * conv_work_of(n->in[0], n->in[2]); }

OPERATOR(conv_grad) = {
    .name = "ConvGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 3},
    .outputs = {1, 3},
    .flags = OP_COSTLY | OP_PICKS,
    .infer = conv_grad_infer,
    .run = conv_grad_run,
    .reads = conv_grad_reads,
    .work = conv_grad_work,
    .cases = CASES({"f32[2,4,5,7] f32[2,3,5,7] f32[4,3,3,3]", "pads=[1,1,1,1]", 0, 3},
                   {"f32[1,4,3,3] f32[1,2,6,6] f32[4,1,2,2]", "group=2 strides=[2,2]", 0, 3}),
};
