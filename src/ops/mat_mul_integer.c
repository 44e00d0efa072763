/* MatMulInteger: y = (A - a_zero_point)·(B - b_zero_point) in int32. */
#include "kernels/compose.h"

/* Parts of the sum of at most 256 products of two numbers in -255 … 255 stay below 2^24, so that float32 holds them exactly. */
enum { EXACT_PRODUCTS = 256 };

/* float32 of x less its zero point, which is one number, or one for each place of an axis. */
static Value *centered(Compose *c, Value *x, Value *point, int axis_from_end) {
  Value *y = compose_cast(c, x, DTYPE_FLOAT32);
  if (!point) return y;
  if (point->shape.rank == 1 && axis_from_end) {
    Shape column = {.rank = axis_from_end + 1};
    for (int i = 0; i < column.rank; i++) column.dim[i] = i ? 1 : point->shape.dim[0];
    point = compose_reshape(c, point, column, NULL);
  }
  return emit(c->graph, "Sub", y, compose_cast(c, point, DTYPE_FLOAT32));
}

static Status mat_mul_integer_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *w = c->node->in[1];
  Dim depth = x->shape.rank ? x->shape.dim[x->shape.rank - 1] : 1;
  if (!dim_is_number(depth)) return node_fail(c->node, STATUS_UNSUPPORTED_OP, "the inner size must be known");
  Value *a = centered(c, x, compose_in(c, 2), x->shape.rank > 1), *b = centered(c, w, compose_in(c, 3), 0), *y = NULL;
  int64_t of_a = -1, of_b = w->shape.rank > 1 ? -2 : -1;
  for (int64_t at = 0; at == 0 || at < depth; at += EXACT_PRODUCTS) {
    Value *from = emit_ints(g, &at, 1), *to = emit_ints(g, (int64_t[]){at + EXACT_PRODUCTS}, 1);
    Value *product = emit(g, "MatMul", emit(g, "Slice", a, from, to, emit_ints(g, &of_a, 1)), emit(g, "Slice", b, from, to, emit_ints(g, &of_b, 1)));
    product = compose_cast(c, product, DTYPE_INT32);
    y = y ? emit(g, "Add", y, product) : product;
  }
  return compose_done(c, y);
}

CASES_OF(mat_mul_integer_cases) = {{"u8[4,3]:0..255 u8[3,2]:0..255 u8[]=12 u8[]=3", .no_grad = "ints"}, {"u8[2,300]:0..255 i8[300,2]:-128..127", .no_grad = "ints"}, {"u8[2,3]:0..255 u8[3,2]:0..255 u8[2]=12,7 u8[2]=3,9", .no_grad = "ints"}, {0}};

const Op op_mat_mul_integer = {
    .name = "MatMulInteger",
    .since = {10},
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .flags = OP_ANY_TYPE,
    .compose = mat_mul_integer_compose,
    .cases = CASES(mat_mul_integer_cases),
};
