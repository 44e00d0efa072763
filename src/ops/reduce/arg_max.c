/* ArgMax: where the largest x lies along an axis, the first of several, or the last where select_last_index. No
 * gradient. */
#include "graph/op.h"
#include "simd.h"

typedef struct ArgMax {
  int axis;
  bool last;
} ArgMax;

static Status arg_max_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  Shape y = {0};
  ArgMax *p = NODE_PARAMS(n, ArgMax);
  if (!p) return STATUS_OUT_OF_MEMORY;
  DType type = n->in[0]->type;
  if (type != DTYPE_FLOAT64 && type != DTYPE_INT64 && type != DTYPE_INT32) TRY(node_want_float(n, 0));
  TRY(node_axis(n, node_int(n, "axis", 0), x->rank, &p->axis));
  p->last = node_int(n, "select_last_index", 0) != 0;
  if (x->dim[p->axis] == 0) return node_invalid(n, "axis %d has no element to point at", p->axis);
  for (int i = 0; i < x->rank; i++)
    if (i != p->axis || node_int(n, "keepdims", 1)) y.dim[y.rank++] = i == p->axis ? 1 : x->dim[i];
  return node_output(n, 0, DTYPE_INT64, &y);
}

/* One line: `count` elements, `inner` apart. */
#define BEST(name, T)                                                                                                  \
  static size_t name(const T *x, size_t count, size_t inner, bool last) {                                              \
    size_t best = 0;                                                                                                   \
    for (size_t k = 1; k < count; k++)                                                                                 \
      if (x[k * inner] > x[best * inner] || (last && x[k * inner] == x[best * inner])) best = k;                       \
    return best;                                                                                                       \
  }
BEST(best_float, float)
BEST(best_double, double)
BEST(best_int64, int64_t)
BEST(best_int32, int32_t)

/* The same of floats side by side: the largest first, then where it is. A NaN that comes first stays. */
static size_t best_of_row(const float *x, size_t count, bool last) {
  if (x[0] != x[0]) return 0;
  f32x4 a = f32x4_splat(x[0]), b = a, c = a, d = a;
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    a = f32x4_max(f32x4_load(x + i), a), b = f32x4_max(f32x4_load(x + i + 4), b);
    c = f32x4_max(f32x4_load(x + i + 8), c), d = f32x4_max(f32x4_load(x + i + 12), d);
  }
  float best = f32x4_max_lane(f32x4_max(f32x4_max(a, b), f32x4_max(c, d)));
  for (; i < count; i++) best = x[i] > best ? x[i] : best;
  if (last)
    for (i = count; x[i - 1] != best;) i--;
  else
    for (i = 1; x[i - 1] != best;) i++;
  return i - 1;
}

/* Four lines side by side. */
static void best_of_four(const float *x, size_t count, size_t inner, bool last, int64_t *y) {
  f32x4 best = f32x4_load(x);
  i32x4 at = i32x4_splat(0);
  for (size_t k = 1; k < count; k++) {
    f32x4 v = f32x4_load(x + k * inner);
    i32x4 better = (v > best) | ((v == best) & i32x4_splat(-(int32_t)last));
    best = f32x4_select(better, v, best);
    at = (i32x4_splat((int32_t)k) & better) | (at & ~better);
  }
  for (int i = 0; i < 4; i++) y[i] = at[i];
}

static void best_of_floats(const float *x, size_t outer, size_t count, size_t inner, bool last, int64_t *y) {
  for (size_t o = 0; o < outer; o++, x += count * inner, y += inner) {
    size_t i = 0;
    for (; i + 4 <= inner && count <= INT32_MAX; i += 4) best_of_four(x + i, count, inner, last, y + i);
    for (; i < inner; i++)
      y[i] = (int64_t)(inner == 1 ? best_of_row(x, count, last) : best_float(x + i, count, inner, last));
  }
}

static void arg_max_run(const Node *n) {
  const ArgMax *p = n->params;
  const Shape *shape = &n->in[0]->shape;
  size_t outer = shape_span(shape, 0, p->axis), inner = shape_span(shape, p->axis + 1, shape->rank),
         count = (size_t)shape->dim[p->axis];
  int64_t *y = n->out[0]->data;
  if (n->in[0]->type == DTYPE_FLOAT32) {
    best_of_floats(n->in[0]->data, outer, count, inner, p->last, y);
    return;
  }
  for (size_t line = 0; line < outer * inner; line++) {
    size_t at = line / inner * count * inner + line % inner;
    const void *x = n->in[0]->data;
    switch (n->in[0]->type) {
      case DTYPE_FLOAT64: y[line] = (int64_t)best_double((const double *)x + at, count, inner, p->last); break;
      case DTYPE_INT64: y[line] = (int64_t)best_int64((const int64_t *)x + at, count, inner, p->last); break;
      default: y[line] = (int64_t)best_int32((const int32_t *)x + at, count, inner, p->last); break;
    }
  }
}

OPERATOR(arg_max) = {
    .name = "ArgMax",
    .since = {1, 11, 12, 13},
    .inputs = {1, 1},
    .flags = OP_FLOAT64 | OP_WIDE_OUT,
    .infer = arg_max_infer,
    .run = arg_max_run,
    .cases = CASES({"f32[2,3,4]", "axis=1"}, {"f32[3,5]", "axis=-1 keepdims=0"}, {"f32[4,2]"},
                   {"v:f32[4]=1,3,3,2", "select_last_index=1", 13}, {"v:f32[4]=1,3,3,2", "axis=0 keepdims=0"},
                   {"f32[2,37]", "axis=1"},
                   {"v:f32[2,3,6]=1,5,3,8,0,-1,4,5,9,2,0,7,3,6,9,4,1,7,0,1,2,3,4,5,-1,1,2,8,9,0,0,2,1,8,5,5", "axis=1"},
                   {"f32[3,9,5]", "axis=1 select_last_index=1", 13}),
};
