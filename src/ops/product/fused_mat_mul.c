/* FusedMatMul (com.microsoft): y = alpha · op(A) · op(B), where op may transpose the last two dims; MatMul's gradient
 * is made of it. transBatchA and transBatchB mean that the first dim comes after the whole batch: (M, …, K) is (…, M,
 * K). dA = alpha · dY · op(B)ᵀ,  dB = alpha · op(A)ᵀ · dY,  each transposed again where A or B was */
#include "ops/product/mat_mul.h"
#include "graph/work.h"

static MatMulAttrs attrs_of(const Node *n) {
  return (MatMulAttrs){.trans_a = node_int(n, "transA", 0) != 0,
                       .trans_b = node_int(n, "transB", 0) != 0,
                       .batch_a = node_int(n, "transBatchA", 0) != 0,
                       .batch_b = node_int(n, "transBatchB", 0) != 0,
                       .alpha = node_float(n, "alpha", 1)};
}

static Status fused_mat_mul_infer(Node *n) { return mat_mul_infer(n, attrs_of(n)); }

typedef struct Operand {
  Value *value;
  bool trans, batch;
} Operand;

static Value *product(Grad *g, Operand a, bool turn_a, Operand b, bool turn_b) {
  AttrList attrs = ATTRS(attr_of_float("alpha", attrs_of(g->node).alpha), attr_of_int("transA", a.trans != turn_a),
                         attr_of_int("transB", b.trans != turn_b), attr_of_int("transBatchA", a.batch),
                         attr_of_int("transBatchB", b.batch));
  if (!a.batch && !b.batch) attrs.count = 3;
  return emit_with(g->graph, "FusedMatMul", attrs, a.value, b.value);
}

/* dx of an operand, where its first dim belongs. */
static Value *put_back(Grad *g, Operand x, Value *dx) {
  int64_t perm[RANK_MAX];
  int rank = x.value->shape.rank;
  if (!x.batch || rank < 3 || !dx) return dx;
  if (dx->shape.rank != rank)
    return node_fail(g->node, STATUS_UNSUPPORTED_OP, "its gradient wants A and B of as many dimensions"), NULL;
  for (int i = 0; i < rank; i++) perm[i] = i == 0 ? rank - 2 : i == rank - 1 ? i : i - 1;
  return emit_with(g->graph, "Transpose", ATTRS(attr_of_ints("perm", perm, rank)), dx);
}

static Status fused_mat_mul_grad(Grad *g) {
  Node *n = g->node;
  MatMulAttrs attrs = attrs_of(n);
  Operand a = {n->in[0], attrs.trans_a, attrs.batch_a}, b = {n->in[1], attrs.trans_b, attrs.batch_b},
          dy = {g->dy[0], false, false};
  if (a.value->shape.rank < 2 || b.value->shape.rank < 2)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs matrices, an input has one dimension");
  if (g->want[0]) g->dx[0] = put_back(g, a, a.trans ? product(g, b, false, dy, true) : product(g, dy, false, b, true));
  if (g->want[1]) g->dx[1] = put_back(g, b, b.trans ? product(g, dy, true, a, false) : product(g, a, true, dy, false));
  return g->graph->error->status;
}

OPERATOR(fused_mat_mul) = {
    .name = "FusedMatMul",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .weights = 3,
    .flags = OP_COSTLY,
    .infer = fused_mat_mul_infer,
    .run = mat_mul_run,
    .grad = GRADIENT(fused_mat_mul_grad),
    .work = work_product,
    .cases = CASES({"f32[2,3,4] f32[2,4,5]", "alpha=0.5"}, {"f32[2,4,3] f32[2,4,5]", "transA=1"},
                   {"f32[2,3,4] f32[5,4]", "transB=1 alpha=2.0"}, {"f32[3,1,4,3] f32[2,5,4]", "transA=1 transB=1"},
                   {"f32[3,2,4] f32[2,4,5]", "transBatchA=1"},
                   {"f32[4,2,3,6] f32[5,2,3,4]", "transA=1 transB=1 transBatchA=1 transBatchB=1 alpha=0.5"},
                   {"f32[2,3,4] f32[4,2,5]", "transBatchB=1"}),
};
