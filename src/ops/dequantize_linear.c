/* DequantizeLinear: y = (x - zero point)·scale. */
#include "kernels/quantization.h"

static Status dequantize_linear_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis;
  TRY(quantization_axis(c, &axis));
  Value *point = compose_in(c, 2), *y = compose_cast(c, x, DTYPE_FLOAT32);
  if (point) y = emit(g, "Sub", y, quantization_along(c, point, axis));
  y = emit(g, "Mul", y, quantization_along(c, c->node->in[1], axis));
  return compose_done(c, compose_cast(c, y, c->node->in[1]->type));
}

CASES_OF(dequantize_linear_cases) = {{"u8[2,6]:0..255 f32[]=0.02 u8[]=128", .no_grad = "ints"}, {"i8[2,3]:-100..100 f32[3]=0.02,0.5,1 i8[3]=0,1,-2", .no_grad = "ints"},
    {"u8[2,5]:0..255 f32[2,3]:0.05..0.2 u8[2,3]:90..110", "block_size=2", 21, .no_grad = "ints"}, {"i32[4]:-999..999 f16[]=14000", .no_grad = "ints"}, {0}};

const Op op_dequantize_linear = {
    .name = "DequantizeLinear",
    .since = {10, 13, 19, 21},
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = OP_ANY_TYPE,
    .compose = dequantize_linear_compose,
    .cases = CASES(dequantize_linear_cases),
};
