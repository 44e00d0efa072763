/* DequantizeLinear: y = (x - zero point)·scale, of ints or tiny floats.  dx = dy·scale, which goes on through
 * QuantizeLinear alone. */
#include "kernels/number.h"
#include "kernels/tiny_float.h"
#include "ops/quantize/quantization.h"
#include "simd.h"

static Status dequantize_linear_infer(Node *n) {
  DType type = n->in[0]->type;
  if (!dtype_is_number(type) || (dtype_is_float(type) && !tiny_is(type)))
    return node_fail(n, STATUS_UNSUPPORTED_OP,
                     "its input is %s, it dequantizes integers and floats of 8 bits and fewer", dtype_name(type));
  if (has_in(n, 2) && n->in[2]->type != type)
    return node_invalid(n, "the zero point is %s, x is %s", dtype_name(n->in[2]->type), dtype_name(type));
  TRY(quantization_infer(n));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

static void dequantize_row(const Node *n, size_t at, size_t scale_at, size_t step, size_t count) {
  const float *scale = in_f32(n, 1) + scale_at;
  float *y = out_f32(n, 0) + at;
  DType type = n->in[0]->type;
  bool tiny = tiny_is(type);
  Numbers x, point = {{0}};
  for (size_t i = 0; i < count; i += NUMBERS) {
    size_t part = count - i < NUMBERS ? count - i : NUMBERS;
    numbers_load(&x, n->in[0]->data, type, at + i, 1, part);
    if (has_in(n, 2)) numbers_load(&point, n->in[2]->data, type, scale_at + i * step, step, part);
    for (size_t k = 0; k < part && tiny; k++)
      y[i + k] = (float)(x.floats[k] - (has_in(n, 2) ? point.floats[k] : 0)) * scale[(i + k) * step];
    for (size_t k = 0; k < part && !tiny; k++)
      y[i + k] = (float)(x.ints[k] - (has_in(n, 2) ? point.ints[k] : 0)) * scale[(i + k) * step];
  }
}

/* ---- bytes of one scale, sixteen at once ---- */

/* Less 128 both, uint8 are int8. */
static void bytes_row(const uint8_t *x, uint8_t flip, int8_t point, float scale, float *y, size_t count) {
  i16x8 points = i16x8_splat(point);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    i8x16 v = i8x16_load(x + i) ^ (int8_t)flip;
    i16x8 halves[2] = {i8x16_low(v) - points, i8x16_high(v) - points};
    for (size_t k = 0; k < 2; k++) {
      f32x4_store(y + i + 8 * k, i32x4_to_f32(i16x8_low_shifted(halves[k]) >> 16) * scale);
      f32x4_store(y + i + 8 * k + 4, i32x4_to_f32(i16x8_high_shifted(halves[k]) >> 16) * scale);
    }
  }
  for (; i < count; i++) y[i] = (float)((int8_t)(x[i] ^ flip) - point) * scale;
}

static void byte_row(const Node *n, size_t at, size_t scale_at, size_t step, size_t count) {
  uint8_t flip = n->in[0]->type == DTYPE_UINT8 ? 0x80 : 0,
          point = has_in(n, 2) ? ((const uint8_t *)n->in[2]->data)[scale_at] : 0;
  if (step) dequantize_row(n, at, scale_at, step, count);
  else
    bytes_row((const uint8_t *)n->in[0]->data + at, flip, (int8_t)(point ^ flip), in_f32(n, 1)[scale_at],
              out_f32(n, 0) + at, count);
}

static void dequantize_linear_run(const Node *n) {
  DType type = n->in[0]->type;
  quantization_each(n, type == DTYPE_UINT8 || type == DTYPE_INT8 ? byte_row : dequantize_row);
}

static Status dequantize_linear_grad(Grad *g) {
  Value *scale = quantization_along(g->graph, g->node, g->node->in[1]);
  if (!g->want[0]) return STATUS_OK;
  if (!scale) return node_fail(g->node, STATUS_UNSUPPORTED_OP, "its gradient is not written for blocks");
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], scale);
  return STATUS_OK;
}

OPERATOR(dequantize_linear) = {
    .name = "DequantizeLinear",
    .since = {10, 13, 19, 21},
    .inputs = {2, 3},
    .flags = OP_ANY_TYPE | OP_STEPS,
    .expand = quantization_expand,
    .expands = quantization_expands,
    .infer = dequantize_linear_infer,
    .run = dequantize_linear_run,
    .grad = GRADIENT(dequantize_linear_grad),
    .cases = CASES({"u8[2,6]:0..255 f32[]=0.02 u8[]=128", .no_grad = "ints"},
                   {"i8[2,3]:-100..100 f32[3]=0.02,0.5,1 i8[3]=0,1,-2", .no_grad = "ints"},
                   {"i32[2,3,2]:-1000..1000 f32[3]=0.02,0.5,1", "axis=1", .no_grad = "ints"},
                   {"i8[2,5]:-100..100 f32[2,3] i8[2,3]=0,1,-2,4,4,5", "axis=1 block_size=2", 21, .no_grad = "ints"},
                   {"u8[5,3]:0..255 f32[2,3]", "axis=0 block_size=3", 21, .no_grad = "ints"},
                   {"u8[2,21]:0..255 f32[2] u8[2]=3,200", "axis=0", .no_grad = "ints"},
                   {"i8[35]:-128..127 f32[]=0.7 i8[]=-128", .no_grad = "ints"},
                   {"u8[4]:0..255 f16[]=0.02", NULL, 19, .no_grad = "ints"}),
};
