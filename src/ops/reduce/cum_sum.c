/* CumSum: running sums along an axis, without the element itself where exclusive, from the end where reverse.
 * dx = the running sums of dy in the other direction. */
#include <string.h>

#include "graph/dims.h"

typedef struct CumSum {
  int axis;
  bool exclusive, reverse;
} CumSum;

static Status cum_sum_infer(Node *n) {
  const Value *x = n->in[0];
  const Dim *axis;
  int count;
  CumSum *p = NODE_PARAMS(n, CumSum);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (CumSum){.exclusive = node_int(n, "exclusive", 0) != 0, .reverse = node_int(n, "reverse", 0) != 0};
  if (x->type != DTYPE_INT64 && x->type != DTYPE_INT32 && x->type != DTYPE_FLOAT64) TRY(node_want_float(n, 0));
  TRY(node_want_index(n, 1));
  TRY(dims_known(n, 1, &axis, &count));
  if (count != 1) return node_invalid(n, "input 1, the axis, must be a scalar");
  if (axis) TRY(node_axis(n, *axis, x->shape.rank, &p->axis));
  return node_output(n, 0, x->type, &x->shape);
}

/* Lines of `inner` elements, `step` apart in the order of summing: y[k] = y[k-1] + x[k], or + x[k-1] where exclusive.
 */
#define CUM_SUM(name, T)                                                                                               \
  static void name(const T *x, T *y, size_t n, size_t inner, ptrdiff_t step, bool exclusive) {                         \
    for (size_t i = 0; i < inner && n; i++) y[i] = exclusive ? 0 : x[i];                                               \
    for (size_t k = 1; k < n; k++, x += step, y += step)                                                               \
      for (size_t i = 0; i < inner; i++) y[(ptrdiff_t)i + step] = y[i] + (exclusive ? x[i] : x[(ptrdiff_t)i + step]);  \
  }
CUM_SUM(sum_floats, float)
CUM_SUM(sum_doubles, double)
CUM_SUM(sum_int64, uint64_t) /* wraps */
CUM_SUM(sum_int32, uint32_t)

static void cum_sum_run(const Node *n) {
  const CumSum *p = n->params;
  const Shape *x = &n->in[0]->shape;
  size_t outer = shape_span(x, 0, p->axis), inner = shape_span(x, p->axis + 1, x->rank),
         count = (size_t)x->dim[p->axis];
  ptrdiff_t step = p->reverse ? -(ptrdiff_t)inner : (ptrdiff_t)inner;
  for (size_t o = 0; o < outer && count; o++) {
    size_t at = (o * count + (p->reverse ? count - 1 : 0)) * inner;
    switch (n->in[0]->type) {
      case DTYPE_FLOAT32: sum_floats(in_f32(n, 0) + at, out_f32(n, 0) + at, count, inner, step, p->exclusive); break;
      case DTYPE_FLOAT64:
        sum_doubles((double *)n->in[0]->data + at, (double *)n->out[0]->data + at, count, inner, step, p->exclusive);
        break;
      case DTYPE_INT64:
        sum_int64((uint64_t *)n->in[0]->data + at, (uint64_t *)n->out[0]->data + at, count, inner, step, p->exclusive);
        break;
      default:
        sum_int32((uint32_t *)n->in[0]->data + at, (uint32_t *)n->out[0]->data + at, count, inner, step, p->exclusive);
        break;
    }
  }
}

static Status cum_sum_grad(Grad *g) {
  const CumSum *p = g->node->params;
  AttrList attrs = ATTRS(attr_of_int("exclusive", p->exclusive), attr_of_int("reverse", !p->reverse));
  g->dx[0] = emit_with(g->graph, "CumSum", attrs, g->dy[0], g->node->in[1]);
  return STATUS_OK;
}

OPERATOR(cum_sum) = {
    .name = "CumSum",
    .since = {11, 14},
    .inputs = {2, 2},
    .flags = OP_FLOAT64,
    .infer = cum_sum_infer,
    .run = cum_sum_run,
    .grad = GRADIENT(cum_sum_grad),
    .cases = CASES({"f32[2,5] i64[]=1"}, {"f32[4,3] i32[]=0", "exclusive=1"}, {"f32[2,3,2] i64[1]=-2", "reverse=1"},
                   {"f32[5] i64[]=0", "exclusive=1 reverse=1"}, {"v:i64[4]=1,2,3,9223372036854775807 i64[]=0"},
                   {"v:i32[2,2]=1,2,3,4 i64[]=1", "reverse=1"}),
};
