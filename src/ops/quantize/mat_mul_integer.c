/* MatMulInteger: y = (A - a_zero_point)·(B - b_zero_point) in int32. */
#include "ops/quantize/integer_product.h"

static Status mat_mul_integer_compose(Compose *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *w = c->node->in[1];
  Dim depth = x->shape.rank ? x->shape.dim[x->shape.rank - 1] : 1;
  if (!dim_is_number(depth)) return node_fail(c->node, STATUS_UNSUPPORTED_OP, "the inner size must be known");
  Value *a = integer_centered(c, x, compose_in(c, 2), x->shape.rank > 1),
        *b = integer_centered(c, w, compose_in(c, 3), 0), *y = NULL;
  int64_t of_a = -1, of_b = w->shape.rank > 1 ? -2 : -1;
  for (int64_t at = 0; at == 0 || at < depth; at += EXACT_PRODUCTS) {
    Value *from = emit_ints(g, &at, 1), *to = emit_ints(g, (int64_t[]){at + EXACT_PRODUCTS}, 1);
    Value *product = emit(g, "MatMul", emit(g, "Slice", a, from, to, emit_ints(g, &of_a, 1)),
                          emit(g, "Slice", b, from, to, emit_ints(g, &of_b, 1)));
    product = compose_cast(c, product, DTYPE_INT32);
    y = y ? emit(g, "Add", y, product) : product;
  }
  return compose_done(c, y);
}

OPERATOR(mat_mul_integer) = {
    .name = "MatMulInteger",
    .since = {10},
    .inputs = {2, 4},
    .flags = OP_ANY_TYPE,
    .compose = mat_mul_integer_compose,
    .cases = CASES({"u8[4,3]:0..255 u8[3,2]:0..255 u8[]=12 u8[]=3", .no_grad = "ints"},
                   {"u8[2,300]:0..255 i8[300,2]:-128..127", .no_grad = "ints"},
                   {"u8[2,3]:0..255 u8[3,2]:0..255 u8[2]=12,7 u8[2]=3,9", .no_grad = "ints"}),
};
