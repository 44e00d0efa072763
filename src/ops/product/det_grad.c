/* DetGrad: from dy and X of a Det:  dX = dy · det(X) · X⁻ᵀ. */
#include "ops/product/gauss.h"

static Status det_grad_infer(Node *n) {
  const Shape *x = &n->in[1]->shape;
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(node_want_rank(n, 1, 2, RANK_MAX));
  TRY(node_output(n, 0, DTYPE_FLOAT32, x));
  if (!node_is_concrete(n)) return STATUS_OK;
  Shape y = shape_of(x->rank - 2, x->dim);
  if (x->dim[x->rank - 2] != x->dim[x->rank - 1] || !shape_equal(&n->in[0]->shape, &y))
    return node_invalid(n, "dy and X do not fit");
  return gauss_bytes(n, x->dim[x->rank - 1], 3);
}

static void det_grad_run(const Node *n) {
  const Shape *x = &n->in[1]->shape;
  size_t size = (size_t)x->dim[x->rank - 1], all = size * size;
  double *a = n->scratch, *adjugate = a + all;
  size_t *swapped = (size_t *)(adjugate + all);
  for (size_t m = 0; m < in_count(n, 0); m++) {
    for (size_t i = 0; i < all; i++) a[i] = in_f32(n, 1)[m * all + i];
    gauss_adjugate(a, size, adjugate, swapped);
    for (size_t i = 0; i < all; i++)
      out_f32(n, 0)[m * all + i] = (float)((double)in_f32(n, 0)[m] * adjugate[i % size * size + i / size]);
  }
}

OPERATOR(det_grad) = {
    .name = "DetGrad",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 2},
    .flags = OP_OURS,
    .infer = det_grad_infer,
    .run = det_grad_run,
    .work = gauss_work,
    .cases = CASES({"f32[2] f32[2,3,3]"}),
};
