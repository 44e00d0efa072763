/* WeightOnlyMatMul (ours; A, W, scale, zero point, C): y = A · ((W - zero point) · scale) + C, a row or of y's shape. W
 * (K, N), or (N, K) with transB, is int8, uint8, or float16 without infinities and NaN, which has neither scale nor
 * zero point. These are one number, one for each place of `axis`, or with block_size one for so many of them. Few rows
 * read W as it is; for more a panel at a time is widened. The pass `weight_only` makes it in bound graphs. */
#include "ops/quantize/weight_only_mat_mul.h"

#include "graph/work.h"
#include "kernels/gemm.h"

typedef struct WeightOnlyMatMul {
  WeightOnly w;
  Gemm gemm; /* without columns where the rows are few */
} WeightOnlyMatMul;

static size_t rows_of(const Node *n) { return shape_span(&n->in[0]->shape, 0, n->in[0]->shape.rank - 1); }

static bool is_single(const WeightOnlyInputs *in) {
  return !in->scale || (!in->block && shape_elements(&in->scale->shape) == 1);
}

/* True if a scale belongs to a row of W. A single scale suits both layouts, so the layout that few rows can read is
 * taken. */
static bool is_dots(const WeightOnlyInputs *in) {
  if (is_single(in)) return in->trans_b;
  return in->block ? in->axis == 1 : in->axis == 0;
}

/* The matrix, without its numbers. */
static WeightOnly weight_only_of(const WeightOnlyInputs *in) {
  const Shape *w = &in->w->shape;
  bool dots = is_dots(in);
  size_t columns = (size_t)w->dim[!dots], depth = (size_t)w->dim[dots], block = (size_t)in->block;
  size_t column = dots && block ? (depth + block - 1) / block : 1, next = dots ? 1 : columns;
  return (WeightOnly){.kind = in->w->type == DTYPE_FLOAT16 ? WEIGHT_ONLY_HALF : WEIGHT_ONLY_8,
                      .dots = dots,
                      .turned = dots != in->trans_b,
                      .columns = columns,
                      .depth = depth,
                      .block = block ? block : depth,
                      .scale_column = column,
                      .scale_block = block ? next : 0,
                      .point_column = column,
                      .point_block = block ? next : 0,
                      .flip = in->w->type == DTYPE_UINT8 ? 0x80 : 0};
}

/* Adds the numbers' addresses; a single scale and zero point serve all. */
static WeightOnly with_data(WeightOnly w, const Node *n) {
  const Value *scale = has_in(n, 2) ? n->in[2] : NULL;
  bool single = scale && shape_elements(&scale->shape) == 1;
  const uint8_t *point = has_in(n, 3) ? n->in[3]->data : NULL;
  w.data = n->in[1]->data;
  w.scale = single ? *(const float *)scale->data : 1;
  w.scales = scale && !single ? scale->data : NULL;
  w.point = (int8_t)((point && single ? *point : 0) ^ w.flip);
  w.points = single ? NULL : point;
  return w;
}

bool weight_only_is_right(const WeightOnlyInputs *in) {
  const Shape *w = &in->w->shape;
  if (w->rank != 2 || w->dim[0] < 1 || w->dim[1] < 1) return false;
  if (in->w->type == DTYPE_FLOAT16) return !in->scale && !in->point;
  if ((in->w->type != DTYPE_INT8 && in->w->type != DTYPE_UINT8) || !in->scale) return false;
  const Shape *s = &in->scale->shape;
  bool dots = is_dots(in);
  Dim columns = w->dim[!dots], depth = w->dim[dots], blocks = in->block ? (depth + in->block - 1) / in->block : 1;
  Shape blocked = dots ? SHAPE(columns, blocks) : SHAPE(blocks, columns);
  bool fits = in->block ? shape_equal(s, &blocked) : s->rank == 1 && s->dim[0] == columns;
  if (!fits && !(is_single(in) && s->rank < 2)) return false;
  bool alike = !in->point || (in->point->type == in->w->type && shape_elements(&in->point->shape) == shape_elements(s));
  return alike && in->scale->type == DTYPE_FLOAT32;
}

static Gemm gemm_of(const Node *n, const WeightOnly *w) {
  size_t columns = w->turned ? w->depth : w->columns, depth = w->turned ? w->columns : w->depth;
  return (Gemm){.rows = rows_of(n),
                .columns = columns,
                .depth = depth,
                .a = gemm_a(NULL, depth, false),
                .fill_b = weight_only_fill,
                .alpha = 1,
                .beta = 1,
                .d_column_stride = true,
                .c_row_stride = columns};
}

static bool is_row(const Shape *c, Dim columns) { return c->rank == 1 && c->dim[0] == columns; }

static Status weight_only_mat_mul_infer(Node *n) {
  WeightOnlyInputs in = {n->in[1],
                         has_in(n, 2) ? n->in[2] : NULL,
                         has_in(n, 3) ? n->in[3] : NULL,
                         node_int(n, "transB", 0) != 0,
                         node_int(n, "axis", 1),
                         node_int(n, "block_size", 0)};
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  TRY(node_want_float(n, 4));
  bool known = shape_is_concrete(&in.w->shape) && (!in.scale || shape_is_concrete(&in.scale->shape)) &&
               (!in.point || shape_is_concrete(&in.point->shape));
  if (!known || in.block < 0 || in.block > INT32_MAX || !weight_only_is_right(&in))
    return node_invalid(n, "W of %s does not go with the types and shapes of its scale and zero point",
                        dtype_name(in.w->type));
  WeightOnlyMatMul *p = NODE_PARAMS(n, WeightOnlyMatMul);
  if (!p) return STATUS_OUT_OF_MEMORY;
  p->w = weight_only_of(&in);
  Shape y = n->in[0]->shape;
  Dim columns = in.w->shape.dim[!in.trans_b], depth = in.w->shape.dim[in.trans_b], *last = &y.dim[y.rank - 1];
  if (dim_is_number(*last) && *last != depth)
    return node_invalid(n, "A has %lld columns, W takes %lld", (long long)*last, (long long)depth);
  *last = columns;
  const Shape *c = has_in(n, 4) ? &n->in[4]->shape : NULL;
  if (c && !is_row(c, columns) && !(node_is_concrete(n) ? shape_equal(c, &y) : c->rank == y.rank))
    return node_invalid(n, "C must be a row of %lld numbers or as the output", (long long)columns);
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  if (!node_is_concrete(n)) return STATUS_OK;
  if (rows_of(n) <= WEIGHT_ONLY_ROWS && weight_only_fits(&p->w))
    return weight_only_bytes(&p->w, rows_of(n), &n->scratch_bytes) ? STATUS_OK : STATUS_OUT_OF_MEMORY;
  p->gemm = gemm_of(n, &p->w);
  p->gemm.d_row_stride = c && !is_row(c, columns) ? (size_t)columns : 0;
  n->scratch_bytes = gemm_bytes(&p->gemm);
  return STATUS_OK;
}

static void run_few(const Node *n, const WeightOnly *w, const float *c) {
  float *y = out_f32(n, 0);
  bool row = c && is_row(&n->in[4]->shape, (Dim)w->columns);
  weight_only_run(w, rows_of(n), in_f32(n, 0), row ? c : NULL, y, n->scratch);
  for (size_t i = 0; c && !row && i < out_count(n, 0); i++) y[i] += c[i];
}

static void weight_only_mat_mul_run(const Node *n) {
  const WeightOnlyMatMul *p = n->params;
  WeightOnly w = with_data(p->w, n);
  const float *c = has_in(n, 4) ? in_f32(n, 4) : NULL;
  Gemm g = p->gemm;
  if (!g.columns) {
    run_few(n, &w, c);
    return;
  }
  g.a.data = in_f32(n, 0);
  g.filled_b = &w;
  g.d = c;
  g.c = out_f32(n, 0);
  gemm_run(&g, n->scratch);
}

OPERATOR(weight_only_mat_mul) = {
    .name = "WeightOnlyMatMul",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 5},
    .flags = OP_ANY_TYPE | OP_OURS | OP_COSTLY,
    .infer = weight_only_mat_mul_infer,
    .run = weight_only_mat_mul_run,
    .work = work_product,
    .cases = CASES(
        {"f32[1,7] i8[7,16]:-128..127 f32[]=0.02", .no_grad = "frozen"},
        {"f32[3,20] u8[20,21]:0..255 f32[21] u8[21]:0..255 f32[21]", .no_grad = "frozen"},
        {"f32[2,37] i8[37,300]:-128..127 f32[3,300] i8[3,300]:-128..127", "axis=0 block_size=16", .no_grad = "frozen"},
        {"f32[3,32] i8[5,32]:-128..127 f32[5] - f32[5]", "transB=1 axis=0", .no_grad = "frozen"},
        {"f32[1,2,48] u8[5,48]:0..255 f32[5,2] u8[5,2]:0..255", "transB=1 block_size=32", .no_grad = "frozen"},
        {"f32[1,9] f16[9,17] - - f32[17]", .no_grad = "frozen"},
        {"f32[3,32] f16[7,32]", "transB=1", .no_grad = "frozen"},
        {"f32[2,5,20] u8[20,21]:0..255 f32[21] u8[21]:0..255 f32[21]", .no_grad = "frozen"},
        {"f32[9,21] i8[20,21]:-128..127 f32[21]", "transB=1", .no_grad = "frozen"},
        {"f32[2,5] i8[5,70]:-128..127 f32[5] - f32[70]", "axis=0", .no_grad = "frozen"},
        {"f32[11,13] u8[7,13]:0..255 f32[]=0.02 u8[]=9", "transB=1", .no_grad = "frozen"},
        {"f32[9,9] f16[9,17] - - f32[17]", .no_grad = "frozen"},
        {"f32[9,9] f16[9,17] - - f32[9,17]", .no_grad = "frozen"},
        {"f32[2,7] i8[7,16]:-128..127 f32[]=0.02 - f32[2,16]", .no_grad = "frozen"}),
};
