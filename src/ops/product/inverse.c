/* Inverse (com.microsoft): Y = X⁻¹ of the matrices in the last two dims; all of it is NaN where X has no inverse.
 *   dX = -Yᵀ · dY · Yᵀ */
#include "ops/product/gauss.h"

static Status inverse_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  char text[SHAPE_TEXT];
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  Dim rows = x->dim[x->rank - 2], columns = x->dim[x->rank - 1];
  if (dim_is_number(rows) && dim_is_number(columns) && rows != columns)
    return node_invalid(n, "its matrices are not square: %s", shape_print(x, text));
  TRY(node_output(n, 0, DTYPE_FLOAT32, x));
  return node_is_concrete(n) ? gauss_bytes(n, rows, 3) : STATUS_OK;
}

static void inverse_run(const Node *n) {
  const Shape *x = &n->in[0]->shape;
  size_t size = (size_t)x->dim[x->rank - 1], all = size * size;
  double *a = n->scratch, *inverse = a + all;
  size_t *swapped = (size_t *)(inverse + all);
  for (size_t at = 0; at < in_count(n, 0); at += all) {
    for (size_t i = 0; i < all; i++) a[i] = in_f32(n, 0)[at + i];
    gauss_inverse(a, size, inverse, swapped);
    for (size_t i = 0; i < all; i++) out_f32(n, 0)[at + i] = (float)inverse[i];
  }
}

static Status inverse_grad(Grad *g) {
  Value *y = g->node->out[0];
  AttrList minus_turned = ATTRS(attr_of_float("alpha", -1), attr_of_int("transA", 1));
  Value *left = emit_with(g->graph, "FusedMatMul", minus_turned, y, g->dy[0]);
  g->dx[0] = emit_with(g->graph, "FusedMatMul", ATTRS(attr_of_int("transB", 1)), left, y);
  return STATUS_OK;
}

OPERATOR(inverse) = {
    .name = "Inverse",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 1},
    .flags = OP_COSTLY,
    .infer = inverse_infer,
    .run = inverse_run,
    .grad = GRADIENT(inverse_grad),
    .work = gauss_work,
    .cases = CASES({"f32[3,3]"}, {"f32[2,2,4,4]"}, {"f32[3,1,1]"}, {"v:f32[3,3]=0,1,0,0,0,2,0.5,0,1"},
                   {"v:f32[2,2,2]=1,2,2,4,1,2,3,4", .no_grad = "the first matrix is singular: NaN"}, {"f32[0,2,2]"}),
};
