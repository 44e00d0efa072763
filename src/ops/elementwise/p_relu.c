/* PRelu: y = x where x > 0, else slope·x, the slope broadcast to x.  dx = dy or dy·slope, dslope = 0 or dy·x. */
#include "graph/upgrade.h"
#include "ops/elementwise/arithmetic.h"

static double p_relu_floats(double a, double b) { return a > 0 ? a : a * b; }
static int64_t p_relu_ints(int64_t a, int64_t b) { return a > 0 ? a : (int64_t)((uint64_t)a * (uint64_t)b); }

static Status p_relu_infer(Node *n) {
  Shape y;
  TRY(node_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &y));
  if (node_is_concrete(n) && !shape_equal(&y, &n->in[0]->shape)) return node_invalid(n, "the slope is larger than x");
  return arithmetic_infer(n);
}

BROADCAST_ROW_2_LONG(p_relu_row, f32x4_select(a > f32x4_splat(0), a, a *b))

static Status p_relu_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *slope = grad->node->in[1], *dy = grad->dy[0], *zero = emit_float(g, 0);
  Value *above = emit(g, "Greater", x, zero);
  if (grad->want[0]) grad->dx[0] = emit(g, "Where", above, dy, emit(g, "Mul", dy, slope));
  if (grad->want[1]) grad->dx[1] = emit(g, "Where", above, zero, emit(g, "Mul", dy, x));
  return STATUS_OK;
}

/* Before opset 7 the slope was of channels. */
static Status p_relu_upgrade(Upgrade *u) {
  if (u->graph->file_opset < 7) upgrade_align(u, 1);
  return STATUS_OK;
}

OPERATOR(p_relu) = {
    .name = "PRelu",
    .since = {1, 6, 7, 9, 16},
    .inputs = {2, 2},
    .scales = 2,
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = p_relu_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){p_relu_row, p_relu_floats, p_relu_ints},
    .grad = GRADIENT(p_relu_grad),
    .upgrade = p_relu_upgrade,
    .cases = CASES({"f32[2,3] f32[2,3]"}, {"f32[2,3,4] f32[3,1]"}, {"f32[5] f32[1]"}, {"f64[2,3] f64[3]"},
                   {"v:i32[4]=-2,-1,0,7 v:i32[]=3"}, {"v:f32[3]=0,-1,2 f32[1]", .kink = true}),
};
