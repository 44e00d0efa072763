/* NarrowMatMul (ours; A, W, scale, zero point, bias): y = A · ((W - zero point) · scale) + bias for few rows of A. W
 * (K, N), or (N, K) with transB, is int8, uint8, or float16 without infinities and NaN, which has neither scale nor
 * zero point. These are one number, one for each column, or with block_size one for each column and so many k. The pass
 * `narrow` makes it in bound graphs. */
#include "ops/quantize/narrow_mat_mul.h"

#include "graph/work.h"

static size_t rows_of(const Node *n) { return shape_span(&n->in[0]->shape, 0, n->in[0]->shape.rank - 1); }

Narrow narrow_of(const NarrowInputs *in, bool transposed, size_t block) {
  const Shape *w = &in->w->shape;
  size_t columns = (size_t)w->dim[!transposed], depth = (size_t)w->dim[transposed];
  size_t column = transposed && block ? (depth + block - 1) / block : 1, next = transposed ? 1 : columns;
  return (Narrow){.kind = in->w->type == DTYPE_FLOAT16 ? NARROW_HALF : NARROW_8,
                  .dots = transposed,
                  .columns = columns,
                  .depth = depth,
                  .block = block ? block : depth,
                  .scale_column = column,
                  .scale_block = block ? next : 0,
                  .point_column = column,
                  .point_block = block ? next : 0,
                  .flip = in->w->type == DTYPE_UINT8 ? 0x80 : 0};
}

/* With the numbers themselves: scale and zero point may be one for all. */
static Narrow with_data(Narrow w, const NarrowInputs *in) {
  bool single = in->scale && shape_elements(&in->scale->shape) == 1;
  const uint8_t *point = in->point ? in->point->data : NULL;
  w.data = in->w->data;
  w.scale = single ? *(const float *)in->scale->data : 1;
  w.scales = in->scale && !single ? in->scale->data : NULL;
  w.point = (int8_t)((point && single ? *point : 0) ^ w.flip);
  w.points = single ? NULL : point;
  return w;
}

bool narrow_is_right(const NarrowInputs *in, bool transposed, size_t block) {
  const Shape *w = &in->w->shape;
  if (w->rank != 2 || w->dim[0] < 1 || w->dim[1] < 1) return false;
  if (in->w->type == DTYPE_FLOAT16) return !in->scale && !in->point;
  if ((in->w->type != DTYPE_INT8 && in->w->type != DTYPE_UINT8) || !in->scale) return false;
  const Shape *s = &in->scale->shape;
  Dim columns = w->dim[!transposed], depth = w->dim[transposed];
  Dim blocks = block ? (depth + (Dim)block - 1) / (Dim)block : 1;
  Shape blocked = transposed ? SHAPE(columns, blocks) : SHAPE(blocks, columns);
  bool single = !block && (s->rank == 0 || (s->rank == 1 && s->dim[0] == 1));
  if (!single && !(block ? shape_equal(s, &blocked) : s->rank == 1 && s->dim[0] == columns)) return false;
  bool alike = !in->point || (in->point->type == in->w->type && shape_elements(&in->point->shape) == shape_elements(s));
  return alike && in->scale->type == DTYPE_FLOAT32;
}

static NarrowInputs inputs_of(const Node *n) {
  return (NarrowInputs){n->in[1], has_in(n, 2) ? n->in[2] : NULL, has_in(n, 3) ? n->in[3] : NULL};
}

static Status narrow_mat_mul_infer(Node *n) {
  int64_t block = node_int(n, "block_size", 0);
  bool transposed = node_int(n, "transB", 0) != 0;
  NarrowInputs in = inputs_of(n);
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 1, RANK_MAX));
  TRY(node_want_float(n, 4));
  bool known = shape_is_concrete(&in.w->shape) && (!in.scale || shape_is_concrete(&in.scale->shape)) &&
               (!in.point || shape_is_concrete(&in.point->shape));
  if (!known || block < 0 || block > INT32_MAX || !narrow_is_right(&in, transposed, (size_t)block))
    return node_invalid(n, "W of %s does not go with the types and shapes of its scale and zero point",
                        dtype_name(in.w->type));
  Narrow *w = NODE_PARAMS(n, Narrow);
  if (!w) return STATUS_OUT_OF_MEMORY;
  *w = narrow_of(&in, transposed, (size_t)block);
  Shape y = n->in[0]->shape;
  if (y.dim[y.rank - 1] != (Dim)w->depth || !narrow_fits(w))
    return node_invalid(n, "it does not take A of %lld columns with W of %zu × %zu", (long long)y.dim[y.rank - 1],
                        w->depth, w->columns);
  y.dim[y.rank - 1] = (Dim)w->columns;
  if (has_in(n, 4) && (n->in[4]->shape.rank != 1 || n->in[4]->shape.dim[0] != (Dim)w->columns))
    return node_invalid(n, "the bias must have %zu numbers", w->columns);
  if (node_is_concrete(n) && rows_of(n) > NARROW_ROWS)
    return node_invalid(n, "A has %zu rows, at most %d", rows_of(n), NARROW_ROWS);
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static void narrow_mat_mul_run(const Node *n) {
  NarrowInputs in = inputs_of(n);
  Narrow w = with_data(*(const Narrow *)n->params, &in);
  narrow_run(&w, rows_of(n), in_f32(n, 0), has_in(n, 4) ? in_f32(n, 4) : NULL, out_f32(n, 0));
}

OPERATOR(narrow_mat_mul) = {
    .name = "NarrowMatMul",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 5},
    .flags = OP_ANY_TYPE | OP_OURS | OP_COSTLY,
    .infer = narrow_mat_mul_infer,
    .run = narrow_mat_mul_run,
    .work = work_product,
    .cases =
        CASES({"f32[1,7] i8[7,16]:-128..127 f32[]=0.02", .no_grad = "frozen"},
              {"f32[3,20] u8[20,21]:0..255 f32[21] u8[21]:0..255 f32[21]", .no_grad = "frozen"},
              {"f32[2,37] i8[37,300]:-128..127 f32[3,300] i8[3,300]:-128..127", "block_size=16", .no_grad = "frozen"},
              {"f32[3,32] i8[5,32]:-128..127 f32[5] - f32[5]", "transB=1", .no_grad = "frozen"},
              {"f32[1,2,48] u8[5,48]:0..255 f32[5,2] u8[5,2]:0..255", "transB=1 block_size=32", .no_grad = "frozen"},
              {"f32[1,9] f16[9,17] - - f32[17]", .no_grad = "frozen"},
              {"f32[3,32] f16[7,32]", "transB=1", .no_grad = "frozen"}),
};
