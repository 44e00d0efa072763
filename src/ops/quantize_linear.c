/* QuantizeLinear: y = round(x / scale) + zero point, the nearest there is in its type. */
#include "kernels/quantization.h"

static Status quantize_linear_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  int axis;
  TRY(quantization_axis(c, &axis));
  Value *point = compose_in(c, 2), *y = compose_cast(c, x, DTYPE_FLOAT32);
  y = emit(g, "Round", emit(g, "Div", y, quantization_along(c, c->node->in[1], axis)));
  if (point) y = emit(g, "Add", y, quantization_along(c, point, axis));
  int64_t type = node_int(c->node, "output_dtype", 0);
  return compose_done(c, compose_cast(c, y, point ? point->type : type ? (DType)type : DTYPE_UINT8));
}

CASES_OF(quantize_linear_cases) = {{"f32[2,6]:-3..3 f32[]=0.02 u8[]=128", .no_grad = "ints"}, {"f32[2,3]:-3..3 f32[3]=0.02,0.5,1 i8[3]=0,1,-2", .no_grad = "ints"}, {"f32[4]:0..9 f32[]=0.1", .no_grad = "ints"},
    {"f32[3,4]:-9..9 f32[3,2]:0.05..0.2 i16[3,2]:-5..5", "axis=-1 block_size=2", 21, .no_grad = "ints"}, {"f32[2,3]:-9..9 f32[]=0.1", "output_dtype=3", 21, .no_grad = "ints"}, {0}};

const Op op_quantize_linear = {
    .name = "QuantizeLinear",
    .since = {10, 13, 19, 21},
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = OP_ANY_TYPE,
    .compose = quantize_linear_compose,
    .cases = CASES(quantize_linear_cases),
};
