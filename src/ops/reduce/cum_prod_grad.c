/* CumProdGrad (ours): what a running product does to its elements, zeros among them too. With p_k = x_0 … x_(k-1), the
 * product before k, and what comes after it, s_k = dy_k + x_(k+1)·s_(k+1):  dx_k = p_k·s_k.  Where the product was
 * exclusive, s_k = dy_(k+1) + x_(k+1)·s_(k+1). */
#include "graph/same_shape.h"
#include "ops/reduce/cumulative.h"

static Status cum_prod_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(same_shape_want(n, 0, 1));
  TRY(cumulative_params(n, 2));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

/* One line of elements `step` apart, from the first to the last of the product. */
static void differentiate(const float *dy, const float *x, float *dx, size_t count, ptrdiff_t step, bool exclusive) {
  float product = 1, sum = 0;
  ptrdiff_t last = (ptrdiff_t)(count - 1) * step;
  for (size_t k = 0; k < count; k++) {
    ptrdiff_t at = (ptrdiff_t)k * step;
    dx[at] = product;
    product *= x[at];
  }
  for (size_t k = 0; k < count; k++) {
    ptrdiff_t at = last - (ptrdiff_t)k * step;
    if (exclusive) dx[at] *= sum, sum = dy[at] + x[at] * sum;
    else sum += dy[at], dx[at] *= sum, sum *= x[at];
  }
}

static void cum_prod_grad_run(const Node *n) {
  const Cumulative *p = n->params;
  const Shape *x = &n->in[1]->shape;
  size_t outer = shape_span(x, 0, p->axis), inner = shape_span(x, p->axis + 1, x->rank),
         count = (size_t)x->dim[p->axis];
  ptrdiff_t step = p->reverse ? -(ptrdiff_t)inner : (ptrdiff_t)inner;
  for (size_t o = 0; o < outer && count; o++)
    for (size_t i = 0; i < inner; i++) {
      size_t at = (o * count + (p->reverse ? count - 1 : 0)) * inner + i;
      differentiate(in_f32(n, 0) + at, in_f32(n, 1) + at, out_f32(n, 0) + at, count, step, p->exclusive);
    }
}

OPERATOR(cum_prod_grad) = {
    .name = "CumProdGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {3, 3},
    .flags = OP_OURS,
    .infer = cum_prod_grad_infer,
    .run = cum_prod_grad_run,
    .cases = CASES({"f32[2,5] f32[2,5] i64[]=1"}, {"f32[4,3] f32[4,3] i64[]=0", "exclusive=1 reverse=1"}),
};
