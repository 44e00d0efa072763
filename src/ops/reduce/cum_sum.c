/* CumSum: running sums along an axis, without the element itself where exclusive, from the end where reverse.
 * dx = the running sums of dy in the other direction. */
#include "ops/reduce/cumulative.h"

CUMULATIVE_LINES(sum_floats, float, 0, +)
CUMULATIVE_FOUR(sum_four, 0, +)
CUMULATIVE_LINES(sum_doubles, double, 0, +)
CUMULATIVE_LINES(sum_int64, uint64_t, 0, +) /* wraps */
CUMULATIVE_LINES(sum_int32, uint32_t, 0, +)

static Status cum_sum_grad(Grad *g) {
  const Cumulative *p = g->node->params;
  AttrList attrs = ATTRS(attr_of_int("exclusive", p->exclusive), attr_of_int("reverse", !p->reverse));
  g->dx[0] = emit_with(g->graph, "CumSum", attrs, g->dy[0], g->node->in[1]);
  return STATUS_OK;
}

OPERATOR(cum_sum) = {
    .name = "CumSum",
    .since = {11, 14},
    .inputs = {2, 2},
    .flags = OP_FLOAT64,
    .infer = cumulative_infer,
    .run = cumulative_run,
    .own = &(const CumulativeOwn){sum_floats, sum_doubles, sum_int64, sum_int32, sum_four},
    .grad = GRADIENT(cum_sum_grad),
    .cases = CASES({"f32[2,5] i64[]=1"}, {"f32[4,3] i32[]=0", "exclusive=1"}, {"f32[2,3,2] i64[1]=-2", "reverse=1"},
                   {"f32[5] i64[]=0", "exclusive=1 reverse=1"}, {"f32[9,3] i64[]=1"},
                   {"f32[2,3,7] i64[]=2", "exclusive=1"}, {"f32[5,7] i64[]=-1", "reverse=1"},
                   {"v:i64[4]=1,2,3,9223372036854775807 i64[]=0"}, {"v:i32[2,2]=1,2,3,4 i64[]=1", "reverse=1"}),
};
