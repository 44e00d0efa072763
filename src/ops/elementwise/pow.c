/* Pow: y = x^e with NumPy broadcasting; in the type of x.
 * dx = dy·e·x^(e-1), de = dy·y·log x (0 where x = 0, as in PyTorch). */
#include "ops/elementwise/broadcast.h"
#include "kernels/float_power.h"
#include "kernels/number.h"

static Status pow_infer(Node *n) {
  DType type = n->in[1]->type;
  if (!dtype_is_number(n->in[0]->type) || !dtype_is_number(type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its inputs are %s and %s, which are no numbers",
                     dtype_name(n->in[0]->type), dtype_name(type));
  return broadcast_infer(n, n->in[0]->type);
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
  if (moves == 1) {
    float_powers_by(y, in[0], e, count);
    return;
  }
  f32x4 x = f32x4_splat(*(const float *)in[0]), es = f32x4_splat(e);
  for (size_t i = 0; i < count; i += 4) {
    if (moves & 1) x = f32x4_load_up_to((const float *)in[0] + i, count - i);
    if (moves & 2 && type == DTYPE_FLOAT32) es = f32x4_load_up_to((const float *)in[1] + i, count - i);
    else if (moves & 2)
      for (size_t k = 0; k < 4; k++) es[k] = exponent_at(in[1], type, i + (k < count - i ? k : 0));
    f32x4_store_up_to((float *)y + i, float_powers(x, es), count - i);
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
    bool whole = !dtype_is_float(type) && power >= 0 && float_is_whole(power) && power < 0x1p62f;
    if (whole) x.ints[0] = int_power(x.ints[0], (int64_t)power);
    else x.floats[0] = (double)float_power(dtype_is_float(type) ? (float)x.floats[0] : (float)x.ints[0], power);
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
