/* ArgMax: where the largest x lies along an axis, the first of several, or the last where select_last_index. No
 * gradient. */
#include "graph/op.h"

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

static void arg_max_run(const Node *n) {
  const ArgMax *p = n->params;
  const Shape *shape = &n->in[0]->shape;
  size_t outer = shape_span(shape, 0, p->axis), inner = shape_span(shape, p->axis + 1, shape->rank),
         count = (size_t)shape->dim[p->axis];
  int64_t *y = n->out[0]->data;
  for (size_t line = 0; line < outer * inner; line++) {
    size_t at = line / inner * count * inner + line % inner;
    const void *x = n->in[0]->data;
    switch (n->in[0]->type) {
      case DTYPE_FLOAT32: y[line] = (int64_t)best_float((const float *)x + at, count, inner, p->last); break;
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
                   {"v:f32[4]=1,3,3,2", "select_last_index=1", 13}, {"v:f32[4]=1,3,3,2", "axis=0 keepdims=0"}),
};
