/* Pow: y = x^e with NumPy broadcasting; in the type of x.
 * dx = dy·e·x^(e-1), de = dy·y·log x (0 where x = 0, as in PyTorch). */
#include "ops/elementwise/broadcast.h"
#include "kernels/number.h"

static Status pow_infer(Node *n) {
  DType type = n->in[1]->type;
  if (!dtype_is_number(n->in[0]->type) || !dtype_is_number(type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s and %s, which are no numbers",
                     dtype_name(n->in[0]->type), dtype_name(type));
  return broadcast_infer(n, n->in[0]->type);
}

/* x^e of two doubles, 0 < x < inf, rounded to float once in the end (0.51 ulp): the same bits on every machine.
 * x = 2^k·m;  log2 m = 2/ln 2 · (s + s³/3 + s⁵/5 …), s = (m-1)/(m+1);  2^f = Σ (f·ln 2)^i / i!.
 * Even and odd terms are added up apart, so that they need not wait for each other. */
static f64x2 power_of_two(f64x2 x, f64x2 e) {
  const double scale = 2.8853900817779268, ln2 = 0.6931471805599453, shift = 0x1.8p52; /* whose last bits are free */
  i64x2 exponent = ((i64x2)x - 0x3fe6a09e667f3bcd) >> 52;                              /* the bits of √½ */
  f64x2 k = (f64x2)(exponent + 0x4338000000000000) - shift, m = (f64x2)((i64x2)x - (exponent << 52));
  f64x2 s = (m - 1.0) / (m + 1.0), z = s * s, w = z * z, limit = {200, 200};
  f64x2 even = ((w * (1.0 / 13) + 1.0 / 9) * w + 1.0 / 5) * w + 1.0, odd = (w * (1.0 / 11) + 1.0 / 7) * w + 1.0 / 3;
  f64x2 t = e * (k + s * scale * (odd * z + even));
  t = (f64x2)(((i64x2)t & (t < limit)) | ((i64x2)limit & ~(t < limit)));
  t = (f64x2)(((i64x2)t & (t > -limit)) | ((i64x2)-limit & ~(t > -limit)));
  f64x2 shifted = t + shift, f = (t - (shifted - shift)) * ln2, g = f * f;
  even = (((g * (1.0 / 40320) + 1.0 / 720) * g + 1.0 / 24) * g + 0.5) * g + 1.0;
  odd = (((g * (1.0 / 362880) + 1.0 / 5040) * g + 1.0 / 120) * g + 1.0 / 6) * g + 1.0;
  return (odd * f + even) * (f64x2)(((i64x2)shifted + 1023) << 52);
}

/* The same of four, or of one. */
static f32x4 powers_positive(f32x4 x, f32x4 e) {
  return f32x4_of_halves(power_of_two(f32x4_low(x), f32x4_low(e)), power_of_two(f32x4_high(x), f32x4_high(e)));
}
static float pow_positive(float x, float e) {
  return (float)power_of_two((f64x2){(double)x, (double)x}, (f64x2){(double)e, (double)e})[0];
}

static bool is_odd(float e) { return fabsf(e) < 0x1p24f && (float)(int32_t)e == e && ((int32_t)e & 1); }
static bool is_integer(float e) { return fabsf(e) >= 0x1p24f || (float)(int32_t)e == e; }

/* IEEE 754's pow. */
static float pow_one(float x, float e) {
  float a = fabsf(x);
  if (e == 0 || x == 1) return 1;
  if (x != x || e != e) return NAN;
  if (a == 1 && fabsf(e) == INFINITY) return 1;
  float y = a == 0 || a == INFINITY ? ((a == 0) == (e > 0) ? 0 : INFINITY) : pow_positive(a, e);
  if (!signbit(x)) return y;
  return is_odd(e) ? -y : x == 0 || a == INFINITY || is_integer(e) ? y : NAN;
}

static f32x4 pow_four(f32x4 x, f32x4 e) {
  i32x4 plain = (x > f32x4_splat(0)) & (x < f32x4_splat(INFINITY)) & (f32x4_abs(e) < f32x4_splat(INFINITY));
  if (!i32x4_any(~plain)) return powers_positive(x, e);
  for (int k = 0; k < 4; k++) x[k] = pow_one(x[k], e[k]);
  return x;
}

static float exponent_at(const void *e, DType type, size_t i) {
  Numbers one;
  if (type == DTYPE_FLOAT32) return ((const float *)e)[i];
  numbers_load(&one, e, type, i, 1, 1);
  return dtype_is_float(type) ? (float)one.floats[0] : (float)one.ints[0];
}

BROADCAST_ROW_1(square_row, x *x)
BROADCAST_ROW_1(cube_row, x *x *x)
BROADCAST_ROW_1(root_row, f32x4_sqrt(x))

static void pow_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {
  DType type = n->in[1]->type;
  float e = exponent_at(in[1], type, 0);
  BroadcastRow *known = e == 2 ? square_row : e == 3 ? cube_row : e == 0.5f ? root_row : NULL;
  if (moves == 1 && known) {
    known(n, y, in, 1, count);
    return;
  }
  f32x4 x = f32x4_splat(*(const float *)in[0]), es = f32x4_splat(e);
  for (size_t i = 0; i < count; i += 4) {
    if (moves & 1) x = f32x4_load_up_to((const float *)in[0] + i, count - i);
    if (moves & 2)
      for (size_t k = 0; k < 4; k++) es[k] = exponent_at(in[1], type, i + (k < count - i ? k : 0));
    f32x4_store_up_to((float *)y + i, pow_four(x, es), count - i);
  }
}

/* x^e for whole x and e ≥ 0 by squaring, wrapping as all ints do. */
static int64_t int_power(int64_t x, int64_t e) {
  uint64_t y = 1, b = (uint64_t)x;
  for (; e > 0; e >>= 1, b *= b)
    if (e & 1) y *= b;
  return (int64_t)y;
}

/* x is no float32: ints by squaring where the exponent allows, the rest by way of float32's power. */
static void number_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {
  DType type = n->in[0]->type, of_e = n->in[1]->type;
  Numbers x, e;
  for (size_t i = 0; i < count; i++) {
    numbers_load(&x, in[0], type, moves & 1 ? i : 0, 1, 1);
    numbers_load(&e, in[1], of_e, moves & 2 ? i : 0, 1, 1);
    float power = dtype_is_float(of_e) ? (float)e.floats[0] : (float)e.ints[0];
    bool whole = !dtype_is_float(type) && power >= 0 && is_integer(power) && power < 0x1p62f;
    if (whole) x.ints[0] = int_power(x.ints[0], (int64_t)power);
    else x.floats[0] = (double)pow_one(dtype_is_float(type) ? (float)x.floats[0] : (float)x.ints[0], power);
    if (whole) numbers_store_ints(&x, y, type, i, 1);
    else numbers_store_floats(&x, y, type, i, 1);
  }
}

static void pow_run(const Node *n) { broadcast_run(n, 2, n->in[0]->type == DTYPE_FLOAT32 ? pow_row : number_row); }

/* dy·e·x^(e-1) for the same number e everywhere; NULL (no gradient) for e = 0. */
static Value *grad_of_constant(Graph *g, Value *dy, Value *x, float e) {
  if (e == 0) return NULL;
  if (e == 1) return dy;
  Value *power = e == 2 ? x : emit(g, "Pow", x, emit_float(g, e - 1));
  return emit(g, "Mul", dy, emit(g, "Mul", power, emit_float(g, e)));
}

static Status pow_grad(Grad *g) {
  Graph *graph = g->graph;
  Value *x = g->node->in[0], *e = g->node->in[1], *dy = g->dy[0], *zero = emit_float(graph, 0);
  size_t count = 0;
  if (g->want[1]) {
    Value *de = emit(graph, "Mul", dy, emit(graph, "Mul", g->node->out[0], emit(graph, "Log", x)));
    g->dx[1] = emit(graph, "Where", emit(graph, "Equal", x, zero), zero, de);
  }
  if (!g->want[0]) return STATUS_OK;
  if (e->kind == VALUE_CONSTANT && shape_count(&e->shape, &count) && count == 1) {
    g->dx[0] = grad_of_constant(graph, dy, x, exponent_at(e->data, e->type, 0));
    return STATUS_OK;
  }
  if (e->type != DTYPE_FLOAT32) e = emit_with(graph, "Cast", ATTRS(attr_of_int("to", DTYPE_FLOAT32)), e);
  Value *power = emit(graph, "Pow", x, emit(graph, "Sub", e, emit_float(graph, 1)));
  Value *dx = emit(graph, "Mul", dy, emit(graph, "Mul", power, e));
  g->dx[0] = emit(graph, "Where", emit(graph, "Equal", e, zero), zero, dx);
  return STATUS_OK;
}

OPERATOR(pow) = {
    .name = "Pow",
    .since = {1, 7, 12, 13, 15},
    .inputs = {2, 2},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = pow_infer,
    .run = pow_run,
    .grad = GRADIENT(pow_grad),
    .cases = CASES({"f32[2,3] f32[]=2"}, {"f32[5] f32[1]=3"}, {"f32[2,3]:0.2..2 f32[]=0.5"},
                   {"f32[2,3]:0.2..2 f32[]=-1.5"}, {"f32[3] f32[]=1"}, {"f32[2,3]:0.2..2 f32[2,3]"},
                   {"f32[3,1]:0.2..2 f32[1,2]"}, {"v:f32[4]=0,2,0.5,3 v:f32[4]=2,0,3,1"},
                   {"f32[2,3]:0.2..2 f32[1]:1..2"}, {"f32[4] i64[]=3"}, {"f32[2,2] v:i64[2]=2,3"},
                   {"f32[2,2] v:i32[2]=0,-1"}, {"f32[3]:0.2..2 f32[3]", NULL, 7}, {"f32[2,2] f32[2]=2,3"}),
};
