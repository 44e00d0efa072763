/* Mod: the remainder of a / b, with the sign of b, or with fmod that of a; of floats without fmod since opset 28.
 * da = dy and db = -dy·(a - y) / b, a whole number. An integer modulo 0 is 0. */
#include <math.h>

#include "ops/elementwise/arithmetic.h"

static int64_t fmod_ints(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t mod_ints(int64_t a, int64_t b) {
  int64_t r = fmod_ints(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static uint64_t mod_naturals(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
static const Arithmetic fmods = {.floats = fmod, .ints = fmod_ints, .naturals = mod_naturals};
static double mod_floats(double a, double b) {
  double r = fmod(a, b);
  return r == 0 ? copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
}
static int32_t mod_int32s(int32_t a, int32_t b) {
  int32_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
BROADCAST_ROW_OF(int32_row, int32_t, int32_t, mod_int32s(a, b))
BROADCAST_ROW_OF(int64_row, int64_t, int64_t, mod_ints(a, b))
BROADCAST_ROW_OF(fmod_row, float, float, fmodf(a, b))
static const Arithmetic mods = {.floats = mod_floats, .ints = mod_ints, .naturals = mod_naturals};
static const Arithmetic *of(const Node *n) { return node_int(n, "fmod", 0) ? &fmods : &mods; }

static Status mod_infer(Node *n) {
  if (n->version < 28 && of(n) == &mods && dtype_is_float(n->in[0]->type))
    return node_invalid(n, "floats need fmod = 1 before opset 28");
  return arithmetic_infer_as(n, of(n));
}

static void mod_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t count) {
  arithmetic_row(of(n), n, y, in, moves, count);
}
static void mod_run(const Node *n) {
  DType type = n->in[0]->type;
  BroadcastRow *row = mod_row;
  if (of(n) == &mods) row = type == DTYPE_INT32 ? int32_row : type == DTYPE_INT64 ? int64_row : mod_row;
  else if (type == DTYPE_FLOAT32) row = fmod_row;
  broadcast_run(n, 2, row);
}

static Status mod_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  grad->dx[0] = grad->dy[0];
  if (!grad->want[1]) return STATUS_OK;
  Value *whole = emit(g, "Div", emit(g, "Sub", n->in[0], n->out[0]), n->in[1]);
  grad->dx[1] = emit(g, "Neg", emit(g, "Mul", grad->dy[0], emit(g, "Round", whole)));
  return STATUS_OK;
}

OPERATOR(mod) = {
    .name = "Mod",
    .since = {10, 13, 28},
    .inputs = {2, 2},
    .flags = OP_FLOAT64 | OP_ATTRIBUTES,
    .infer = mod_infer,
    .run = mod_run,
    .grad = GRADIENT(mod_grad),
    .cases = CASES({"f32[2,3]:1..2 f32[3]:0.6..0.8", "fmod=1"}, {"v:i64[6]=-4,7,5,4,-7,8 v:i64[6]=2,-3,8,-2,3,5"},
                   {"v:i32[6]=-4,7,5,4,-7,8 v:i32[6]=2,-3,8,-2,3,0", "fmod=1"},
                   {"v:f32[5]=-4.3,7.2,5,-8.1,2 v:f32[5]=2.1,-3.3,8,-2.5,3", NULL, 28}, {"u8[4]:0..255 u8[]=7"},
                   {"v:i32[6]=-4,7,5,4,-7,8 v:i32[6]=2,-3,8,-2,3,0"}),
};
