/* FakeQuant (com.microsoft): y = (clamp(round(x / scale) + zero point, quant_min, quant_max) - zero point)·scale for
 * one scale and zero point, and a mask of where nothing was clamped.  dx = dy there, else 0 (FakeQuantGrad), as
 * PyTorch's fake_quantize has it; none flows into the scale. */
#include "graph/second_output.h"
#include "kernels/vector_math.h"

static Status fake_quant_infer(Node *n) {
  float *bounds = node_params(n, 2 * sizeof *bounds);
  if (!bounds) return STATUS_OUT_OF_MEMORY;
  bounds[0] = (float)node_int(n, "quant_min", 0);
  bounds[1] = (float)node_int(n, "quant_max", 255);
  for (int i = 0; i < 3; i++) {
    size_t count;
    TRY(node_want_float(n, i));
    if (i && (!shape_count(&n->in[i]->shape, &count) || count != 1))
      return node_invalid(n, "input %d must be one number", i);
  }
  TRY(node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape));
  return node_output(n, 1, DTYPE_BOOL, &n->in[0]->shape);
}

static void fake_quant_run(const Node *n) {
  const float *x = in_f32(n, 0), *bounds = n->params, scale = *in_f32(n, 1), point = *in_f32(n, 2);
  float *y = has_out(n, 0) ? out_f32(n, 0) : NULL;
  uint8_t *mask = has_out(n, 1) ? n->out[1]->data : NULL;
  f32x4 low = f32x4_splat(bounds[0]), high = f32x4_splat(bounds[1]);
  for (size_t i = 0, count = in_count(n, 0); i < count; i += 4) {
    size_t left = count - i;
    f32x4 q = f32x4_nearest(f32x4_load_up_to(x + i, left) / scale) + point;
    f32x4 clamped = f32x4_min(high, f32x4_max(low, q));
    i32x4 inside = (q >= low) & (q <= high) & 1;
    for (size_t k = 0; mask && k < 4 && k < left; k++) mask[i + k] = (uint8_t)inside[k];
    if (y) f32x4_store_up_to(y + i, (clamped - point) * scale, left);
  }
}

static Status fake_quant_gradient(Grad *g) {
  TRY(second_output_want(g->node, "mask"));
  if (g->want[0]) g->dx[0] = emit(g->graph, "FakeQuantGrad", g->dy[0], g->node->out[1]);
  return STATUS_OK;
}

OPERATOR(fake_quant) = {
    .name = "FakeQuant",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 3},
    .outputs = {1, 2},
    .flags = OP_STEPS,
    .infer = fake_quant_infer,
    .run = fake_quant_run,
    .grad = GRADIENT(fake_quant_gradient),
    .cases = CASES({"f32[3,7]:-3..3 f32[]=0.02 f32[]=100", NULL, 0, 2, .no_grad = "steps"},
                   {"f32[3,7]:-3..3 f32[1]=0.05 f32[1]=0", "quant_min=-8 quant_max=7", .no_grad = "steps"}),
};
