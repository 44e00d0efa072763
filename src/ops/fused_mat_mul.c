/* FusedMatMul (com.microsoft): y = alpha · op(A) · op(B), op turning the last two dims; MatMul's gradient is made of it.
 *   dA = alpha · dY · op(B)ᵀ,  dB = alpha · op(A)ᵀ · dY, each turned once more where A or B was. */
#include "ops/mat_mul.h"

static MatMulAttrs attrs_of(const Node *n) {
  return (MatMulAttrs){.trans_a = node_int(n, "transA", 0) != 0, .trans_b = node_int(n, "transB", 0) != 0,
                       .alpha = node_float(n, "alpha", 1)};
}

static Status fused_mat_mul_infer(Node *n) {
  if (node_int(n, "transBatchA", 0) || node_int(n, "transBatchB", 0))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "transBatchA and transBatchB are not supported");
  return mat_mul_infer(n, attrs_of(n));
}

static Value *product(Grad *g, Value *a, bool trans_a, Value *b, bool trans_b) {
  return emit_with(g->graph, "FusedMatMul",
                   ATTRS(attr_of_float("alpha", attrs_of(g->node).alpha), attr_of_int("transA", trans_a), attr_of_int("transB", trans_b)),
                   a, b);
}

static Status fused_mat_mul_grad(Grad *g) {
  Node *n = g->node;
  MatMulAttrs attrs = attrs_of(n);
  Value *a = n->in[0], *b = n->in[1], *dy = g->dy[0];
  if (a->shape.rank < 2 || b->shape.rank < 2)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs matrices, an input has one dimension");
  if (g->want[0]) g->dx[0] = attrs.trans_a ? product(g, b, attrs.trans_b, dy, true) : product(g, dy, false, b, !attrs.trans_b);
  if (g->want[1]) g->dx[1] = attrs.trans_b ? product(g, dy, true, a, attrs.trans_a) : product(g, a, !attrs.trans_a, dy, false);
  return STATUS_OK;
}

CASES_OF(fused_mat_mul_cases) = {
    {"f32[2,3,4] f32[2,4,5]", "alpha=0.5"},
    {"f32[2,4,3] f32[2,4,5]", "transA=1"},
    {"f32[2,3,4] f32[5,4]", "transB=1 alpha=2.0"},
    {"f32[3,1,4,3] f32[2,5,4]", "transA=1 transB=1"},
    {0}};

const Op op_fused_mat_mul = {
    .name = "FusedMatMul",
    .domain = "com.microsoft",
    .since = {1},
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .infer = fused_mat_mul_infer,
    .run = mat_mul_run,
    .grad = fused_mat_mul_grad,
    .cases = CASES(fused_mat_mul_cases),
};
