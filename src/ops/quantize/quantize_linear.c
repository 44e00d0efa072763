/* QuantizeLinear: y = round(x / scale) + zero point, the nearest there is in its type.  dx = dy / scale where x was in
 * range, else 0; the gradient of the integers is that of DequantizeLinear. */
#include <math.h>

#include "kernels/copy.h"
#include "kernels/number.h"
#include "kernels/tiny_float.h"
#include "ops/quantize/quantization.h"
#include "kernels/vector_math.h"

static DType quantized_type(const Node *n) {
  return has_in(n, 2)                          ? n->in[2]->type
       : (DType)node_int(n, "output_dtype", 0) ? (DType)node_int(n, "output_dtype", 0)
                                               : DTYPE_UINT8;
}

/* True for types of 8 bits and fewer that opset 19 and later added. */
static bool is_small(DType type) { return tiny_is(type) || dtype_packed(type) > 1; }

static Status quantize_linear_infer(Node *n) {
  DType type = quantized_type(n);
  if (type < DTYPE_UINT8 || (type > DTYPE_INT16 && !is_small(type)))
    return node_fail(n, STATUS_UNSUPPORTED_OP,
                     "its output is of type %s, we have integers of 16 bits and fewer and "
                     "floats of 8 and fewer",
                     dtype_name(type));
  if (node_int(n, "saturate", 1) == 0 && tiny_is(type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "saturate is 0, we give the largest number for those beyond it");
  TRY(node_want_float(n, 0));
  TRY(quantization_infer(n));
  return node_output(n, 0, type, &n->in[0]->shape);
}

static void quantize_row(const Node *n, size_t at, size_t scale_at, size_t step, size_t count) {
  const float *x = in_f32(n, 0) + at, *scale = in_f32(n, 1) + scale_at;
  DType type = n->out[0]->type;
  bool tiny = tiny_is(type);
  Numbers y, point = {{0}};
  for (size_t i = 0; i < count; i += NUMBERS) {
    size_t part = count - i < NUMBERS ? count - i : NUMBERS;
    if (has_in(n, 2)) numbers_load(&point, n->in[2]->data, type, scale_at + i * step, step, part);
    for (size_t k = 0; k < part; k++) {
      float ratio = x[i + k] / scale[(i + k) * step];
      if (tiny) y.floats[k] = (double)ratio + (has_in(n, 2) ? point.floats[k] : 0);
      else y.floats[k] = (double)nearbyintf(ratio) + (has_in(n, 2) ? (double)point.ints[k] : 0);
    }
    numbers_store_floats(&y, n->out[0]->data, type, at + i, part);
  }
}

/* ---- bytes of one scale, sixteen at once ---- */

typedef struct Bytes {
  float scale, point, low, high;
} Bytes;

/* NaN gives 0, as it does wherever floats become integers. Of each lane only the lowest byte counts. */
static inline i32x4 four_of(const float *x, Bytes b) {
  f32x4 y = f32x4_nearest(f32x4_load(x) / b.scale) + b.point;
  y = f32x4_min(f32x4_splat(b.high), f32x4_max(f32x4_splat(b.low), y));
  return (i32x4)((f32x4)((i32x4)y & (y == y)) + F32X4_SHIFT);
}

static void bytes_row(const float *x, Bytes b, uint8_t *y, size_t count) {
  float rest[16];
  uint8_t last[16];
  for (size_t i = 0; i < count; i += 16) {
    bool all = i + 16 <= count;
    for (size_t k = 0; k < 16 && !all; k++) rest[k] = x[i + k < count ? i + k : i];
    const float *from = all ? x + i : rest;
    i8x16_store(all ? y + i : last,
                i8x16_of_lanes(four_of(from, b), four_of(from + 4, b), four_of(from + 8, b), four_of(from + 12, b)));
    if (!all) copy_bytes(y + i, last, count - i);
  }
}

static void byte_row(const Node *n, size_t at, size_t scale_at, size_t step, size_t count) {
  bool is_signed = n->out[0]->type == DTYPE_INT8;
  Bytes b = {in_f32(n, 1)[scale_at], 0, is_signed ? -128 : 0, is_signed ? 127 : 255};
  if (has_in(n, 2)) {
    uint8_t point = ((const uint8_t *)n->in[2]->data)[scale_at];
    b.point = is_signed ? (float)(int8_t)point : (float)point;
  }
  if (step) quantize_row(n, at, scale_at, step, count);
  else bytes_row(in_f32(n, 0) + at, b, (uint8_t *)n->out[0]->data + at, count);
}

static void quantize_linear_run(const Node *n) {
  DType type = n->out[0]->type;
  quantization_each(n, type == DTYPE_UINT8 || type == DTYPE_INT8 ? byte_row : quantize_row);
}

/* lowest ≤ round(x / scale) + zero point ≤ highest */
static Status quantize_linear_grad(Grad *g) {
  Graph *to = g->graph;
  const Node *n = g->node;
  DType type = n->out[0]->type;
  bool is_signed = type == DTYPE_INT8 || type == DTYPE_INT16;
  float span = type == DTYPE_INT8 || type == DTYPE_UINT8 ? 255 : 65535, low = is_signed ? -(span + 1) / 2 : 0;
  Value *scale = quantization_along(to, n, n->in[1]),
        *point = has_in(n, 2) ? quantization_along(to, n, n->in[2]) : NULL;
  if (!scale) return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient is not written for blocks");
  if (is_small(type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient is not written for %s", dtype_name(type));
  if (!g->want[0]) return STATUS_OK;
  Value *q = emit(to, "Round", emit(to, "Div", n->in[0], scale));
  if (point) q = emit(to, "Add", q, emit_with(to, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), point));
  Value *out = emit(to, "Or", emit(to, "Less", q, emit_float(to, low)),
                    emit(to, "Greater", q, emit_float(to, low + span)));
  g->dx[0] = emit(to, "Where", out, emit_float(to, 0), emit(to, "Div", g->dy[0], scale));
  return STATUS_OK;
}

OPERATOR(quantize_linear) = {
    .name = "QuantizeLinear",
    .since = {10, 13, 19, 21},
    .inputs = {2, 3},
    .flags = OP_ANY_TYPE | OP_STRAIGHT_THROUGH | OP_STEPS,
    .expand = quantization_expand,
    .expands = quantization_expands,
    .infer = quantize_linear_infer,
    .run = quantize_linear_run,
    .grad = GRADIENT(quantize_linear_grad),
    .cases = CASES({"f32[2,6]:-3..3 f32[]=0.02 u8[]=128", .no_grad = "steps"},
                   {"f32[2,3]:-3..3 f32[3]=0.02,0.5,1 i8[3]=0,1,-2", .no_grad = "steps"},
                   {"f32[4]:0..9 f32[]=0.1", .no_grad = "steps"},
                   {"f32[2,3,2]:-300..300 f32[3]=0.02,0.5,1 i16[3]=0,1,-2", "axis=1", 21, .no_grad = "steps"},
                   {"f32[2,5]:-3..3 f32[2,3]=0.02,0.5,1,0.03,0.1,0.4", "axis=1 block_size=2 output_dtype=3", 21,
                    .no_grad = "steps"},
                   {"f32[3,2]:-3..3 f32[2,2]=0.02,0.5,1,0.03 u8[2,2]=3,0,0,9", "axis=0 block_size=2", 21,
                    .no_grad = "steps"},
                   {"f32[6]:-9..9 f32[]=0.5", "output_dtype=22", 21, .no_grad = "steps"},
                   {"f32[6]:-900..900 f32[]=0.5", "output_dtype=17", 21, .no_grad = "steps"},
                   {"v:f32[21]=nan,inf,-inf,0.5,1.5,2.5,-0.5,300,-300,100,1,2,3,4,5,6,7,8,9,10,11 f32[]=1 i8[]=-3",
                    .no_grad = "steps"},
                   {"f32[2,19]:-300..300 f32[2]=0.5,2 u8[2]=3,200", "axis=0", .no_grad = "steps"},
                   {"f16[6]:-9..9 f16[]=0.5 u8[]=3", NULL, 19, .no_grad = "steps"}),
};
