/* Det: the determinants of square matrices.  dX = dy · det(X) · X⁻ᵀ. */
#include "ops/product/gauss.h"

static Status det_infer(Node *n) {
  const Shape *x = &n->in[0]->shape;
  char text[SHAPE_TEXT];
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 2, RANK_MAX));
  Dim rows = x->dim[x->rank - 2], columns = x->dim[x->rank - 1];
  if (dim_is_number(rows) && dim_is_number(columns) && rows != columns)
    return node_invalid(n, "its matrices are not square: %s", shape_print(x, text));
  Shape y = shape_of(x->rank - 2, x->dim);
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  return node_is_concrete(n) ? gauss_bytes(n, rows, 1) : STATUS_OK;
}

static void det_run(const Node *n) {
  const Shape *x = &n->in[0]->shape;
  size_t size = (size_t)x->dim[x->rank - 1], all = size * size;
  double *a = n->scratch;
  for (size_t m = 0; m < out_count(n, 0); m++) {
    for (size_t i = 0; i < all; i++) a[i] = in_f32(n, 0)[m * all + i];
    out_f32(n, 0)[m] = (float)gauss_determinant(a, size);
  }
}

static Status det_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "DetGrad", g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

OPERATOR(det) = {
    .name = "Det",
    .since = {11, 22},
    .inputs = {1, 1},
    .infer = det_infer,
    .run = det_run,
    .grad = GRADIENT(det_grad),
    .work = gauss_work,
    .cases = CASES({"f32[3,3]"}, {"f32[2,2,4,4]"}, {"f32[3,1,1]"}, {"v:f32[3,3]=1,2,3,2,4,6,1,1,1"},
                   {"v:f32[3,3]=0,1,0,0,0,2,0.5,0,1"}, {"v:f32[5,5]=1*"}),
};
