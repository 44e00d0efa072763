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

/* x^e for 0 < x < inf in double, rounded to float once at the end (0.51 ulp): the same bits on every machine.
 * x = 2^k·m;  log2 m = 2/ln 2 · (s + s³/3 + s⁵/5 …), s = (m-1)/(m+1);  2^f = Σ (f·ln 2)^i / i!. */
static float pow_positive(double x, double e) {
  const double log2_terms = 8, exp_terms = 11, scale = 2.8853900817779268, ln2 = 0.6931471805599453;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int64_t k = (int64_t)(bits - 0x3fe6a09e667f3bcdu) >> 52;
  bits -= (uint64_t)k << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  double s = (m - 1) / (m + 1), series = 0;
  for (double i = log2_terms; i >= 0; i--) series = series * s * s + 1 / (2 * i + 1);
  double t = e * ((double)k + s * scale * series);
  t = t > 200 ? 200 : t < -200 ? -200 : t;
  int64_t whole = (int64_t)(t < 0 ? t - 0.5 : t + 0.5);
  double f = (t - (double)whole) * ln2, y = 1;
  for (double i = exp_terms; i >= 1; i--) y = 1 + y * f / i;
  bits = (uint64_t)(whole + 1023) << 52;
  memcpy(&m, &bits, sizeof m);
  return (float)(y * m);
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
  for (size_t i = 0; i < count; i++)
    ((float *)y)[i] = pow_one(((const float *)in[0])[moves & 1 ? i : 0], exponent_at(in[1], type, moves & 2 ? i : 0));
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
