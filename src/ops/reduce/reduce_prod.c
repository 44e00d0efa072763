/* ReduceProd: y = Π x over the axes.  dx = dy·y / x; at a 0 that is alone dy times the product of the others, beside
 * another 0 it is 0. */
#include "ops/reduce/reduce_numbers.h"

static double prod_floats(double a, double b) { return a * b; }
static int64_t prod_ints(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
FOLD_ROW(prod_row, 1, a *b, a *b)

/* The same reduction of another x, spread over x's shape again. */
static Value *spread(Grad *grad, const char *op, Value *x) {
  Node *n = grad->node;
  AttrList attrs = {n->attrs, n->attr_count};
  Value *y = has_in(n, 1) ? emit_with(grad->graph, op, attrs, x, n->in[1]) : emit_with(grad->graph, op, attrs, x);
  return reduce_sum_gradient(grad->graph, n, y);
}

static Status reduce_prod_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *zero = emit_float(g, 0), *one = emit_float(g, 1), *is_zero = emit(g, "Equal", x, zero);
  Value *others = emit(g, "Where", is_zero, one, x);
  Value *product_of_others = emit(g, "Div", spread(grad, "ReduceProd", others), others);
  /* ½ for each 0 of the line: 1 when there is none, ½ when there is one */
  Value *half = emit_float(g, 0.5f), *zeros = spread(grad, "ReduceProd", emit(g, "Where", is_zero, half, one));
  Value *counts = emit(g, "Equal", zeros, emit(g, "Where", is_zero, half, one));
  Value *slope = emit(g, "Where", counts, product_of_others, zero);
  grad->dx[0] = emit(g, "Mul", slope, reduce_sum_gradient(g, grad->node, grad->dy[0]));
  return STATUS_OK;
}

OPERATOR(reduce_prod) = {
    .name = "ReduceProd",
    .since = {1, 11, 13, 18},
    .inputs = {1, 2},
    .flags = OP_FLOAT64,
    .infer = reduce_numbers_infer,
    .run = reduce_numbers_run,
    .own = &(const ReduceNumbers){1, prod_row, prod_floats, prod_ints},
    .grad = GRADIENT(reduce_prod_grad),
    .cases = CASES({"f32[2,3,4]", "axes=[1]"}, {"f32[3,5]", "axes=[-1] keepdims=0"}, {"f32[2,3]", "keepdims=0"},
                   {"f32[2,3,4] i64[2]=0,2", NULL, 18}, {"v:f32[3,3]=0,2,3,0,0,5,1,2,3", "axes=[1]"},
                   {"v:i64[2,3]=1,2,3,4,5,6", "axes=[1]"}),
};
