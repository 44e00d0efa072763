/* Clip: y = min(max(x, low), high); NaN stays NaN.  dx = dy where low < y < high, else 0: at a bound it is 0, as that
 * of PyTorch's ReLU6 and of Relu is, and x need not be kept.  dhigh = Σ dy where y ≥ high, dlow = Σ dy of the others
 * where y ≤ low. */
#include "ops/elementwise/broadcast.h"
#include "kernels/number.h"
#include "graph/upgrade.h"

static Status clip_infer(Node *n) {
  for (int i = 0; i < n->in_count; i++) {
    size_t count;
    if (has_in(n, i) && n->in[i]->type != n->in[0]->type)
      return node_invalid(n, "input %d is %s, x is %s", i, dtype_name(n->in[i]->type), dtype_name(n->in[0]->type));
    if (i && has_in(n, i) && shape_count(&n->in[i]->shape, &count) && count != 1)
      return node_invalid(n, "input %d must be a scalar", i);
  }
  if (!dtype_is_number(n->in[0]->type))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its input is %s, which has no order", dtype_name(n->in[0]->type));
  return node_output(n, 0, n->in[0]->type, &n->in[0]->shape);
}

static float bound(const Node *n, int i, float otherwise) { return has_in(n, i) ? *in_f32(n, i) : otherwise; }
BROADCAST_ROW_1_WITH(clip_row, float low = bound(n, 1, -INFINITY);
                     float high = bound(n, 2, INFINITY), f32x4_min(f32x4_splat(high), f32x4_max(f32x4_splat(low), x)))

/* The other types, in the widest of their kind. */
#define CLIP_NUMBERS(kind, T)                                                                                          \
  for (size_t i = 0; i < count; i++) {                                                                                 \
    T x_ = (T)x.kind[i];                                                                                               \
    if (has_in(n, 1)) x_ = x_ < (T)low.kind[0] ? (T)low.kind[0] : x_;                                                  \
    if (has_in(n, 2)) x_ = x_ > (T)high.kind[0] ? (T)high.kind[0] : x_;                                                \
    x.kind[i] = (T)x_;                                                                                                 \
  }

static void number_row(const Node *n, void *y, const void *const *in, unsigned moves, size_t total) {
  DType type = n->in[0]->type;
  Numbers x, low, high;
  if (has_in(n, 1)) numbers_load(&low, n->in[1]->data, type, 0, 1, 1);
  if (has_in(n, 2)) numbers_load(&high, n->in[2]->data, type, 0, 1, 1);
  for (size_t at = 0; at < total; at += NUMBERS) {
    size_t count = total - at < NUMBERS ? total - at : NUMBERS;
    numbers_load(&x, in[0], type, at, 1, count);
    if (dtype_is_float(type)) CLIP_NUMBERS(floats, double)
    else if (type == DTYPE_UINT64) CLIP_NUMBERS(ints, uint64_t)
    else CLIP_NUMBERS(ints, int64_t)
    if (dtype_is_float(type)) numbers_store_floats(&x, y, type, at, count);
    else numbers_store_ints(&x, y, type, at, count);
  }
}

/* Apart, for a block of numbers takes longer than to limit them. */
static void int64_row(const Node *n, void *y_, const void *const *in, unsigned moves, size_t count) {
  const int64_t *x = in[0], low = has_in(n, 1) ? *(const int64_t *)n->in[1]->data : INT64_MIN,
                high = has_in(n, 2) ? *(const int64_t *)n->in[2]->data : INT64_MAX;
  int64_t *y = y_;
  for (size_t i = 0; i < count; i++) {
    int64_t above = x[i] < low ? low : x[i];
    y[i] = above > high ? high : above;
  }
}

static void clip_run(const Node *n) {
  DType type = n->in[0]->type;
  broadcast_run(n, 1, type == DTYPE_FLOAT32 ? clip_row : type == DTYPE_INT64 ? int64_row : number_row);
}

static Value *bound_of(const Node *n, int i) { return has_in(n, i) ? n->in[i] : NULL; }

static Status clip_grad(Grad *g) {
  Value *y = g->node->out[0], *low = bound_of(g->node, 1), *high = bound_of(g->node, 2);
  Value *over = low ? emit(g->graph, "Greater", y, low) : NULL, *under = high ? emit(g->graph, "Less", y, high) : NULL;
  Value *inside = over && under ? emit(g->graph, "And", over, under) : over ? over : under, *zero;
  if (!inside) return g->dx[0] = g->dy[0], STATUS_OK;
  zero = emit_float(g->graph, 0);
  if (g->want[0]) g->dx[0] = emit(g->graph, "Where", inside, g->dy[0], zero);
  if (high && g->want[2]) g->dx[2] = emit(g->graph, "Where", under, zero, g->dy[0]);
  if (low && g->want[1])
    g->dx[1] = emit(g->graph, "Where", over, zero, under ? emit(g->graph, "Where", under, g->dy[0], zero) : g->dy[0]);
  return STATUS_OK;
}

static Status clip_upgrade(Upgrade *u) {
  upgrade_move(u, "min", 1, 11);
  upgrade_move(u, "max", 2, 11);
  return STATUS_OK;
}

OPERATOR(clip) = {
    .name = "Clip",
    .since = {1, 6, 11, 12, 13},
    .inputs = {1, 3},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = clip_infer,
    .run = clip_run,
    .grad = GRADIENT(clip_grad),
    .upgrade = clip_upgrade,
    .cases = CASES({"f32[2,3] f32[]=-0.5 f32[]=0.7"}, {"f32[7] - f32[]=0.3"}, {"f32[7] f32[]=-0.2"}, {"f32[7]"},
                   {"f32[5] v:f32[]=-0.4 v:f32[1]=0.4", NULL, 11}, {"f32[7] v:f32[]=-0.5", NULL, 12},
                   {"f32[7] - v:f32[1]=0.3", NULL, 12}, {"f32[7]", "min=-0.5 max=0.25", 10},
                   {"f32[7] f32[]=-0.5 f32[]=0.25", NULL, 11}, {"f32[7]", "max=0.25 consumed_inputs=[0]", 1},
                   {"v:i64[5]=-7,3,9,0,5 i64[]=-1 i64[]=5", NULL, 12}, {"v:i64[3]=-7,3,9 - i64[]=5", NULL, 12},
                   {"v:i32[3]=-7,3,9 i32[]=0", NULL, 12}),
};
