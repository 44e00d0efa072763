/* CumProd: running products along an axis, without the element itself where exclusive, from the end where reverse. */
#include "ops/reduce/cumulative.h"

CUMULATIVE_LINES(product_floats, float, 1, *)
CUMULATIVE_LINES(product_doubles, double, 1, *)
CUMULATIVE_LINES(product_int64, uint64_t, 1, *) /* wraps */
CUMULATIVE_LINES(product_int32, uint32_t, 1, *)

static Status cum_prod_grad(Grad *g) {
  const Cumulative *p = g->node->params;
  AttrList attrs = ATTRS(attr_of_int("exclusive", p->exclusive), attr_of_int("reverse", p->reverse));
  g->dx[0] = emit_with(g->graph, "CumProdGrad", attrs, g->dy[0], g->node->in[0], g->node->in[1]);
  return STATUS_OK;
}

OPERATOR(cum_prod) = {
    .name = "CumProd",
    .since = {26},
    .inputs = {2, 2},
    .flags = OP_FLOAT64,
    .infer = cumulative_infer,
    .run = cumulative_run,
    .own = &(const CumulativeOwn){product_floats, product_doubles, product_int64, product_int32},
    .grad = GRADIENT(cum_prod_grad),
    .cases = CASES({"f32[2,5] i64[]=1", NULL, 26}, {"f32[4,3] i32[]=0", "exclusive=1", 26},
                   {"f32[2,3,2] i64[1]=-2", "reverse=1", 26}, {"f32[5] i64[]=0", "exclusive=1 reverse=1", 26},
                   {"v:f32[5]=2,0,3,0.5,4 i64[]=0", NULL, 26}, {"v:i64[4]=1,2,3,4611686018427387904 i64[]=0", NULL, 26},
                   {"v:i32[2,2]=1,2,3,4 i64[]=1", "reverse=1", 26}),
};
