/* MatMulInteger: y = (A - a_zero_point)·(B - b_zero_point) in int32. */
#include "graph/work.h"
#include "kernels/byte_product.h"
#include "ops/quantize/integer_product.h"

static Status mat_mul_integer_expand(Expansion *c) {
  Graph *g = c->graph;
  Value *x = c->node->in[0];
  Value *w = c->node->in[1];
  Dim depth = x->shape.rank ? x->shape.dim[x->shape.rank - 1] : 1;
  if (!dim_is_number(depth)) depth = w->shape.rank ? w->shape.dim[w->shape.rank > 1 ? w->shape.rank - 2 : 0] : 1;
  if (!dim_is_number(depth) && g->deferral.tries) return node_want_number(c->node, 0, x->shape.rank - 1);
  DType type = dim_is_number(depth) ? DTYPE_FLOAT32 : DTYPE_INT32; /* slower, but exact for any inner size */
  Value *a = integer_centered(c, x, expand_in(c, 2), type, x->shape.rank > 1),
        *b = integer_centered(c, w, expand_in(c, 3), type, 0), *y = NULL;
  if (type == DTYPE_INT32) return expand_done(c, emit(g, "MatMul", a, b));
  int64_t of_a = -1, of_b = w->shape.rank > 1 ? -2 : -1;
  for (int64_t at = 0; at == 0 || at < depth; at += EXACT_PRODUCTS) {
    Value *from = emit_ints(g, &at, 1), *to = emit_ints(g, (int64_t[]){at + EXACT_PRODUCTS}, 1);
    Value *product = emit(g, "MatMul", emit(g, "Slice", a, from, to, emit_ints(g, &of_a, 1)),
                          emit(g, "Slice", b, from, to, emit_ints(g, &of_b, 1)));
    product = expand_cast(c, product, DTYPE_INT32);
    y = y ? emit(g, "Add", y, product) : product;
  }
  return expand_done(c, y);
}

/* ---- a matrix B, and one zero point of A, as exporters write it ---- */

static bool is_byte(const Value *v) { return v->type == DTYPE_INT8 || v->type == DTYPE_UINT8; }

static bool is_single(const Value *v) { return v->shape.rank == 0 || (v->shape.rank == 1 && v->shape.dim[0] == 1); }

static Value *input_of(const Added *a, int i) { return i < a->in_count ? a->in[i] : NULL; }

static bool mat_mul_integer_expands(const Added *a) {
  const Value *x = input_of(a, 0), *w = input_of(a, 1), *x_point = input_of(a, 2), *w_point = input_of(a, 3);
  if (!x || !w || !is_byte(x) || !is_byte(w) || x->shape.rank < 2 || w->shape.rank != 2) return true;
  if (w->shape.dim[0] < 1 || w->shape.dim[1] < BYTE_COLUMNS) return true;
  if (x_point && (x_point->type != x->type || !is_single(x_point))) return true;
  return w_point && (w_point->type != w->type || w_point->shape.rank > 1 ||
                     (!is_single(w_point) && w_point->shape.dim[0] != w->shape.dim[1]));
}

static ByteProduct product_of(const Node *n) {
  const Shape *w = &n->in[1]->shape;
  bool points = has_in(n, 3);
  return (ByteProduct){.rows = shape_span(&n->in[0]->shape, 0, n->in[0]->shape.rank - 1),
                       .columns = (size_t)w->dim[1],
                       .depth = (size_t)w->dim[0],
                       .a = n->in[0]->data,
                       .b = n->in[1]->data,
                       .a_flip = n->in[0]->type == DTYPE_UINT8 ? 0x80 : 0,
                       .b_flip = n->in[1]->type == DTYPE_UINT8 ? 0x80 : 0,
                       .a_point = has_in(n, 2) ? n->in[2]->data : NULL,
                       .b_points = points ? n->in[3]->data : NULL,
                       .b_point_stride = points && !is_single(n->in[3])};
}

static Status mat_mul_integer_infer(Node *n) {
  Shape y = n->in[0]->shape;
  const Shape *w = &n->in[1]->shape;
  Dim *last = &y.dim[y.rank - 1];
  if (dim_is_number(*last) && *last != w->dim[0])
    return node_invalid(n, "inner sizes differ: A has %lld, B has %lld", (long long)*last, (long long)w->dim[0]);
  *last = w->dim[1];
  TRY(node_output(n, 0, DTYPE_INT32, &y));
  if (node_is_concrete(n)) n->scratch_bytes = byte_product_bytes(shape_span(&y, 0, y.rank - 1), (size_t)w->dim[0]);
  return STATUS_OK;
}

static void mat_mul_integer_run(const Node *n) {
  ByteProduct p = product_of(n);
  p.c = n->out[0]->data;
  byte_product_run(&p, n->scratch);
}

OPERATOR(mat_mul_integer) = {
    .name = "MatMulInteger",
    .since = {10},
    .inputs = {2, 4},
    .flags = OP_ANY_TYPE,
    .expand = mat_mul_integer_expand,
    .expands = mat_mul_integer_expands,
    .infer = mat_mul_integer_infer,
    .run = mat_mul_integer_run,
    .work = work_product,
    .cases = CASES({"u8[4,3]:0..255 u8[3,2]:0..255 u8[]=12 u8[]=3", .no_grad = "ints"},
                   {"u8[2,300]:0..255 i8[300,2]:-128..127", .no_grad = "ints"},
                   {"u8[2,3]:0..255 u8[3,2]:0..255 u8[2]=12,7 u8[2]=3,9", .no_grad = "ints"},
                   {"u8[300]:250..255 i8[2,300,3]:-128..127 u8[]=3", .no_grad = "ints"},
                   {"u8[3,9]:0..255 i8[9,21]:-128..127 u8[]=130", .no_grad = "ints"},
                   {"i8[2,2,8]:-128..127 u8[8,33]:0..255 i8[1]=-7 u8[33]=3,255,0,128,77*", .no_grad = "ints"},
                   {"u8[9,5]:0..255 u8[5,300]:0..255 - u8[]=200", .no_grad = "ints"}),
};
