/* Div: y = a / b with NumPy broadcasting; integers are cut towards 0, and a / 0 is 0 for them.
 * da = dy / b, db = -dy·a / b² = -dy·y / b. */
#include "ops/elementwise/arithmetic.h"

/* a / -1 by hand: the division of the smallest integer traps. */
static int64_t div_ints(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b; }
static double div_floats(double a, double b) { return a / b; }
static uint64_t div_naturals(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
BROADCAST_ROW_2(div_row, a / b)
BROADCAST_ROW_OF(div_int64, int64_t, int64_t, div_ints(a, b))

static Status div_grad(Grad *g) {
  Value *b = g->node->in[1], *y = g->node->out[0], *dy = g->dy[0];
  if (g->want[0]) g->dx[0] = emit(g->graph, "Div", dy, b);
  if (g->want[1]) g->dx[1] = emit(g->graph, "Neg", emit(g->graph, "Div", emit(g->graph, "Mul", dy, y), b));
  return STATUS_OK;
}

OPERATOR(div) = {
    .name = "Div",
    .since = {1, 6, 7, 13, 14},
    .inputs = {2, 2},
    .scales = 2,
    .in_place = 1 | 2,
    .flags = OP_FLOAT64 | OP_ALONG_AXIS,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){div_row, div_floats, div_ints, div_naturals, .int64 = div_int64, .of_sizes = true},
    .grad = GRADIENT(div_grad),
    .cases = CASES({"f32[2,3] f32[2,3]:0.5..2"}, {"f32[2,5] f32[5]:-2..-0.5"}, {"f32[3,1] f32[]:0.5..2"},
                   {"i64[3]=-7,7,7 i64[3]=2,-1,0"}, {"v:i64[3]=-7,7,7 v:i64[3]=2,-1,0"}, {"v:i32[2]=9,7 v:i32[]=2"}),
};
