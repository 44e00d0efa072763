/* MatMul: y = A · B over the last two dims, the dims before them broadcast; a 1-D A is a row, a 1-D B a column.
 *   dA = dY · Bᵀ,  dB = Aᵀ · dY  (a matrix B under a batched A: one product over the whole batch) */
#include "ops/product/mat_mul.h"
#include "ops/product/gemm.h"
#include "kernels/number.h"
#include "threads.h"
#include "graph/work.h"

typedef struct MatMulParams {
  Gemm gemm; /* product of one pair of matrices, without data */
  bool trans_a, trans_b;
  size_t lda, ldb;
  int batch_rank;
  size_t batch[RANK_MAX], a_stride[RANK_MAX], b_stride[RANK_MAX]; /* in floats, 0 where broadcast */
} MatMulParams;

/* A 1-D operand as a matrix. */
static Shape as_matrix(const Shape *s, bool row) {
  if (s->rank != 1) return *s;
  return row ? SHAPE(1, s->dim[0]) : SHAPE(s->dim[0], 1);
}

static Shape batch_of(const Shape *s) { return shape_of(s->rank - 2, s->dim); }

/* (M, …, K) as (…, M, K) */
static Shape batch_first(Shape s) {
  Dim first = s.dim[0];
  for (int i = 0; i < s.rank - 2; i++) s.dim[i] = s.dim[i + 1];
  if (s.rank > 2) s.dim[s.rank - 2] = first;
  return s;
}

/* `turned`: where rows lie around the batch. Returns the floats from row to row. */
static size_t batch_strides(const Shape *s, int batch_rank, bool turned, size_t *stride) {
  size_t row = (size_t)s->dim[s->rank - 1], at = turned ? row : shape_span(s, s->rank - 2, s->rank);
  for (int i = 1; i <= s->rank - 2; i++) {
    Dim d = s->dim[s->rank - 2 - i];
    stride[batch_rank - i] = d == 1 ? 0 : at;
    at *= (size_t)d;
  }
  return turned ? at : row;
}

static Status mat_mul_plan(Node *n, MatMulAttrs attrs, const Shape *a, const Shape *b, const Shape *batch) {
  MatMulParams *p = NODE_PARAMS(n, MatMulParams);
  if (!p) return STATUS_OUT_OF_MEMORY;
  *p = (MatMulParams){.trans_a = attrs.trans_a, .trans_b = attrs.trans_b, .batch_rank = batch->rank};
  size_t columns = (size_t)b->dim[b->rank - (attrs.trans_b ? 2 : 1)];
  p->gemm = (Gemm){.rows = (size_t)a->dim[a->rank - (attrs.trans_a ? 1 : 2)],
                   .columns = columns,
                   .depth = (size_t)a->dim[a->rank - (attrs.trans_a ? 2 : 1)],
                   .alpha = attrs.alpha,
                   .c_row_stride = columns};
  if (!attrs.trans_a && !attrs.batch_a && b->rank == 2) { /* (N, T, K) · (K, D) is (N · T, K) · (K, D) */
    p->gemm.rows *= shape_span(batch, 0, batch->rank);
    p->batch_rank = 0;
  }
  for (int i = 0; i < batch->rank; i++) p->batch[i] = (size_t)batch->dim[i];
  p->lda = batch_strides(a, batch->rank, attrs.batch_a, p->a_stride);
  p->ldb = batch_strides(b, batch->rank, attrs.batch_b, p->b_stride);
  p->gemm.a = gemm_a(NULL, p->lda, p->trans_a);
  p->gemm.b = gemm_b(NULL, p->ldb, p->trans_b);
  n->scratch_bytes = gemm_bytes(&p->gemm);
  return STATUS_OK;
}

/* Plain products are of any type. */
static Status check_types(const Node *n, MatMulAttrs attrs) {
  DType type = n->in[0]->type;
  if (n->in[1]->type != type)
    return node_invalid(n, "its inputs must be of one type, they are %s and %s", dtype_name(type),
                        dtype_name(n->in[1]->type));
  bool plain = !attrs.trans_a && !attrs.trans_b && !attrs.batch_a && !attrs.batch_b && attrs.alpha == 1;
  return plain && dtype_is_number(type) ? STATUS_OK : node_want_float(n, 0);
}

Status mat_mul_infer(Node *n, MatMulAttrs attrs) {
  Shape y, batch_a, batch_b;
  TRY(check_types(n, attrs));
  for (int i = 0; i < 2; i++) {
    TRY(node_want_rank(n, i, 1, RANK_MAX));
  }
  if (n->in[0]->shape.rank == 1) attrs.trans_a = false;
  if (n->in[1]->shape.rank == 1) attrs.trans_b = false;
  Shape a = as_matrix(&n->in[0]->shape, true), b = as_matrix(&n->in[1]->shape, false);
  if (attrs.batch_a) a = batch_first(a);
  if (attrs.batch_b) b = batch_first(b);
  Dim in_a = a.dim[a.rank - (attrs.trans_a ? 2 : 1)], in_b = b.dim[b.rank - (attrs.trans_b ? 1 : 2)];
  if (dim_is_number(in_a) && dim_is_number(in_b) && in_a != in_b)
    return node_invalid(n, "inner sizes differ: A has %lld, B has %lld", (long long)in_a, (long long)in_b);
  batch_a = batch_of(&a);
  batch_b = batch_of(&b);
  TRY(node_broadcast(n, &batch_a, &batch_b, &y));
  Shape batch = y;
  if (n->in[0]->shape.rank > 1) y.dim[y.rank++] = a.dim[a.rank - (attrs.trans_a ? 1 : 2)];
  if (n->in[1]->shape.rank > 1) y.dim[y.rank++] = b.dim[b.rank - (attrs.trans_b ? 2 : 1)];
  TRY(node_output(n, 0, n->in[0]->type, &y));
  return node_is_concrete(n) ? mat_mul_plan(n, attrs, &a, &b, &batch) : STATUS_OK;
}

/* Finds the start of matrix m of the batch in A and B. */
static void product_at(const MatMulParams *p, size_t m, size_t *at_a, size_t *at_b) {
  *at_a = *at_b = 0;
  for (int i = p->batch_rank - 1; i >= 0; i--) {
    *at_a += m % p->batch[i] * p->a_stride[i];
    *at_b += m % p->batch[i] * p->b_stride[i];
    m /= p->batch[i];
  }
}

/* Matrix m of the batch. */
static Gemm product_of(const Node *n, size_t m) {
  const MatMulParams *p = n->params;
  Gemm g = p->gemm;
  size_t at_a, at_b;
  product_at(p, m, &at_a, &at_b);
  g.a = gemm_a(in_f32(n, 0) + at_a, p->lda, p->trans_a);
  g.b = gemm_b(in_f32(n, 1) + at_b, p->ldb, p->trans_b);
  g.c = out_f32(n, 0) + m * g.rows * g.columns;
  return g;
}

static void run_product(void *node, size_t m, int thread) {
  Gemm g = product_of(node, m);
  gemm_run_alone(&g, (char *)((Node *)node)->scratch + (size_t)thread * gemm_alone_bytes(g.rows, g.columns, g.depth));
}

/* y = A · B in double or int64: for every type but float32, not optimized for speed. */
static void product_of_numbers(const Node *n, size_t m) {
  const MatMulParams *p = n->params;
  const Gemm *g = &p->gemm;
  DType type = n->in[0]->type;
  size_t at_a, at_b;
  product_at(p, m, &at_a, &at_b);
  for (size_t i = 0; i < g->rows * g->columns; i++) {
    Numbers a, b, sum = {0};
    for (size_t k = 0; k < g->depth; k++) {
      numbers_load(&a, n->in[0]->data, type, at_a + i / g->columns * p->lda + k, 1, 1);
      numbers_load(&b, n->in[1]->data, type, at_b + k * p->ldb + i % g->columns, 1, 1);
      if (type == DTYPE_FLOAT64) sum.floats[0] += a.floats[0] * b.floats[0];
      else sum.ints[0] = (int64_t)((uint64_t)sum.ints[0] + (uint64_t)a.ints[0] * (uint64_t)b.ints[0]);
    }
    if (type == DTYPE_FLOAT64) numbers_store_floats(&sum, n->out[0]->data, type, m * g->rows * g->columns + i, 1);
    else numbers_store_ints(&sum, n->out[0]->data, type, m * g->rows * g->columns + i, 1);
  }
}

/* Threads take whole products; if there are fewer products than threads, each is divided. */
void mat_mul_run(const Node *n) {
  const MatMulParams *p = n->params;
  size_t count = 1;
  for (int i = 0; i < p->batch_rank; i++) count *= p->batch[i];
  for (size_t m = 0; m < count && n->in[0]->type != DTYPE_FLOAT32; m++) product_of_numbers(n, m);
  if (n->in[0]->type != DTYPE_FLOAT32) return;
  if (count >= (size_t)threads_count() && count > 1) {
    threads_run(count, run_product, (void *)n);
    return;
  }
  for (size_t m = 0; m < count; m++) {
    Gemm g = product_of(n, m);
    gemm_run(&g, n->scratch);
  }
}

static Status plain_infer(Node *n) { return mat_mul_infer(n, (MatMulAttrs){.alpha = 1}); }

/* ---- gradient ---- */

/* v with its last dim `last` and zeros for the dims before it, which Reshape takes from v; `one` puts a 1 before the
 * last. */
static Value *reshape_last(Graph *g, Value *v, int rank, bool one, int64_t last) {
  int64_t dims[RANK_MAX] = {0};
  if (one) dims[rank - 2] = 1;
  dims[rank - 1] = last;
  return emit(g, "Reshape", v, emit_ints(g, dims, rank));
}

static Value *fused(Graph *g, Value *a, bool trans_a, Value *b, bool trans_b) {
  return emit_with(g, "FusedMatMul",
                   ATTRS(attr_of_float("alpha", 1), attr_of_int("transA", trans_a), attr_of_int("transB", trans_b)), a,
                   b);
}

/* v (N…, D) as (N · …, D) */
static Value *flat(Graph *g, Value *v) {
  return emit_with(g, "Flatten", ATTRS(attr_of_int("axis", v->shape.rank - 1)), v);
}

static Status mat_mul_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *a = grad->node->in[0], *b = grad->node->in[1], *dy = grad->dy[0];
  const Shape *sa = &a->shape, *sb = &b->shape;
  bool row = sa->rank == 1, column = sb->rank == 1;
  if (sa->rank == 2 && sb->rank == 2) {
    if (grad->want[0]) grad->dx[0] = gemm_emit(g, 1, dy, false, b, true);
    if (grad->want[1]) grad->dx[1] = gemm_emit(g, 1, a, true, dy, false);
    return STATUS_OK;
  }
  if (sa->rank > 2 && sb->rank == 2 && dim_is_number(sb->dim[0]) && dim_is_number(sb->dim[1]) && grad->want[1])
    grad->dx[1] = gemm_emit(g, 1, flat(g, a), true, flat(g, dy), false);
  if (row && column) dy = emit(g, "Reshape", dy, emit_ints(g, (int64_t[]){1, 1}, 2));
  else if (row) dy = reshape_last(g, dy, dy->shape.rank + 1, true, -1);
  else if (column) dy = reshape_last(g, dy, dy->shape.rank + 1, false, 1);
  if (grad->want[0]) grad->dx[0] = fused(g, dy, false, column ? reshape_last(g, b, 2, false, 1) : b, true);
  if (!grad->want[1] || grad->dx[1]) return STATUS_OK;
  Value *db = fused(g, row ? emit(g, "Reshape", a, emit_ints(g, (int64_t[]){1, -1}, 2)) : a, true, dy, false);
  grad->dx[1] = column && db ? reshape_last(g, db, db->shape.rank - 1, false, -1) : db;
  return STATUS_OK;
}

OPERATOR(mat_mul) = {
    .name = "MatMul",
    .since = {1, 9, 13},
    .inputs = {2, 2},
    .weights = 3,
    .flags = OP_FLOAT64 | OP_COSTLY,
    .infer = plain_infer,
    .run = mat_mul_run,
    .grad = GRADIENT(mat_mul_grad),
    .work = work_product,
    .cases = CASES({"f32[3,4] f32[4,5]", ""}, {"f32[2,3,4] f32[4,5]", "", 9}, {"f32[2,3,4] f32[2,4,5]", ""},
                   {"f32[2,1,3,4] f32[3,4,2]", ""}, {"f32[3,4] f32[2,4,5]", ""}, {"f32[4] f32[4]", ""},
                   {"f32[4] f32[4,5]", ""}, {"f32[4] f32[2,4,5]", ""}, {"f32[3,4] f32[4]", ""},
                   {"f32[2,3,4] f32[4]", ""}, {"v:i64[2,2,3]=1,2,3,4,5,6,7,8,9,-1,-2,-3 v:i64[3,2]=1,2,3,4,5,6"},
                   {"f64[2,3] f64[3,4]"}, {"f32[1,1,2,1,1,1,2,3] f32[3]", ""}),
};
