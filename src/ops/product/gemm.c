/* Gemm: y = alpha · op(A) · op(B) + beta · C.
 *   dA = alpha · dY · op(B)ᵀ and dB = alpha · op(A)ᵀ · dY, as Gemm nodes, each transposed again where A or B was;
 *   dC = beta · dY */
#include "ops/product/gemm.h"
#include "graph/work.h"

static bool dims_differ(Dim a, Dim b) { return dim_is_number(a) && dim_is_number(b) && a != b; }

static Status check_c(Node *n, const Shape *y) {
  Shape both;
  char c[SHAPE_TEXT], out[SHAPE_TEXT];
  if (!has_in(n, 2)) return STATUS_OK;
  TRY(node_broadcast(n, &n->in[2]->shape, y, &both));
  if (both.rank != 2 || dims_differ(both.dim[0], y->dim[0]) || dims_differ(both.dim[1], y->dim[1]))
    return node_invalid(n, "C is %s, it must broadcast to %s", shape_print(&n->in[2]->shape, c), shape_print(y, out));
  return STATUS_OK;
}

/* Strides of C (M × N by broadcasting) from row to row and from column to column. */
static void c_strides(const Shape *c, Gemm *g) {
  Dim rows = c->rank == 2 ? c->dim[0] : 1, columns = c->rank >= 1 ? c->dim[c->rank - 1] : 1;
  g->d_column_stride = columns != 1;
  g->d_row_stride = rows != 1 ? (size_t)columns : 0;
}

static Status gemm_plan(Node *n, bool trans_a, bool trans_b, const Shape *y) {
  GemmParams *p = NODE_PARAMS(n, GemmParams);
  if (!p) return STATUS_OUT_OF_MEMORY;
  const Shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
  *p = (GemmParams){.trans_a = trans_a, .trans_b = trans_b, .lda = (size_t)a->dim[1], .ldb = (size_t)b->dim[1]};
  p->gemm = (Gemm){.rows = (size_t)y->dim[0],
                   .columns = (size_t)y->dim[1],
                   .depth = (size_t)a->dim[!trans_a],
                   .a = gemm_a(NULL, p->lda, trans_a),
                   .b = gemm_b(NULL, p->ldb, trans_b),
                   .alpha = node_float(n, "alpha", 1),
                   .beta = node_float(n, "beta", 1),
                   .c_row_stride = (size_t)y->dim[1]};
  if (has_in(n, 2)) c_strides(&n->in[2]->shape, &p->gemm);
  n->scratch_bytes = gemm_bytes(&p->gemm);
  return STATUS_OK;
}

Status gemm_op_infer(Node *n) {
  for (int i = 0; i < 3; i++) TRY(node_want_float(n, i));
  TRY(node_want_rank(n, 0, 2, 2));
  TRY(node_want_rank(n, 1, 2, 2));
  TRY(node_want_rank(n, 2, 0, 2));
  bool trans_a = node_int(n, "transA", 0) != 0, trans_b = node_int(n, "transB", 0) != 0;
  const Shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
  Dim in_a = a->dim[!trans_a], in_b = b->dim[trans_b];
  if (dims_differ(in_a, in_b))
    return node_invalid(n, "inner sizes differ: A has %lld, B has %lld", (long long)in_a, (long long)in_b);
  Shape y = SHAPE(a->dim[trans_a], b->dim[!trans_b]);
  TRY(check_c(n, &y));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  return node_is_concrete(n) ? gemm_plan(n, trans_a, trans_b, &y) : STATUS_OK;
}

void gemm_op_run(const Node *n) {
  const GemmParams *p = n->params;
  Gemm g = p->gemm;
  g.a = gemm_a(in_f32(n, 0), p->lda, p->trans_a);
  g.b = gemm_b(in_f32(n, 1), p->ldb, p->trans_b);
  g.d = has_in(n, 2) && g.beta != 0 ? in_f32(n, 2) : NULL;
  g.c = out_f32(n, 0);
  gemm_run(&g, n->scratch);
}

Value *gemm_emit(Graph *g, float alpha, Value *a, bool trans_a, Value *b, bool trans_b) {
  return emit_with(g, "Gemm",
                   ATTRS(attr_of_float("alpha", alpha), attr_of_float("beta", 1), attr_of_int("transA", trans_a),
                         attr_of_int("transB", trans_b)),
                   a, b);
}

static Value *product(Grad *g, Value *a, bool trans_a, Value *b, bool trans_b) {
  return gemm_emit(g->graph, node_float(g->node, "alpha", 1), a, trans_a, b, trans_b);
}

static Status gemm_grad(Grad *g) {
  Node *n = g->node;
  Value *dy = g->dy[0], *a = n->in[0], *b = n->in[1];
  bool trans_a = node_int(n, "transA", 0) != 0, trans_b = node_int(n, "transB", 0) != 0;
  float beta = node_float(n, "beta", 1);
  if (g->want[0]) g->dx[0] = trans_a ? product(g, b, trans_b, dy, true) : product(g, dy, false, b, !trans_b);
  if (g->want[1]) g->dx[1] = trans_b ? product(g, dy, true, a, trans_a) : product(g, a, !trans_a, dy, false);
  if (has_in(n, 2) && g->want[2]) g->dx[2] = beta == 1 ? dy : emit(g->graph, "Mul", dy, emit_float(g->graph, beta));
  return STATUS_OK;
}

OPERATOR(gemm) = {
    .name = "Gemm",
    .since = {1, 6, 7, 9, 11, 13},
    .inputs = {2, 3},
    .weights = 3,
    .biases = 4,
    .in_place = 4,
    .flags = OP_ALONE | OP_COSTLY,
    .infer = gemm_op_infer,
    .run = gemm_op_run,
    .grad = GRADIENT(gemm_grad),
    .work = work_product,
    .cases = CASES({"f32[3,4] f32[4,5]", ""}, {"f32[7,13] f32[13,11] f32[11]", "alpha=0.5 beta=2.0"},
                   {"f32[4,3] f32[4,5] f32[3,5]", "transA=1", 7},
                   {"f32[6,9] f32[10,9] f32[6,1]", "transB=1 alpha=-1.5", 9},
                   {"f32[9,6] f32[10,9] f32[1,10]", "transA=1 transB=1 beta=0.5", 11},
                   {"f32[1,9] f32[9,21] f32[21]", ""}, {"f32[1,9] f32[7,9] f32[]", "transB=1"},
                   {"f32[9,7] f32[9,1] f32[1]", "transA=1"}, {"f32[6,1] f32[1,17]", ""},
                   {"f32[4,400] f32[400,9] f32[4,9]", "beta=0.5"}, {"f32[5,3] f32[3,800]", "alpha=2.0"},
                   {"f32[130,3] f32[3,4]", ""}, {"f32[2,3] f32[3,2] f32[2]", "beta=0.0"}),
};
