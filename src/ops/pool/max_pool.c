/* MaxPool: the largest of each window, without padding, and its offset in the whole of X. The first of equal ones wins;
 * NaN wins over everything, as in PyTorch. */
#include <math.h>
#include <string.h>

#include "graph/second_output.h"
#include "ops/pool/pool.h"
#include "simd.h"
#include "threads.h"

static Status max_pool_infer(Node *n) {
  Shape y;
  Pool *pool;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, RANK_MAX));
  TRY(pool_infer(n, &n->in[0]->shape, &y, &pool));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  return node_output(n, 1, DTYPE_INT64, &y);
}

static bool beats(float x, float best) { return x > best || isnan(x); }

static size_t largest(const float *x, const Window *w, PoolRange depths, PoolRange rows, PoolRange columns) {
  size_t width = w->in[1], best = (depths.from * w->in[0] + rows.from) * width + columns.from;
  for (size_t d = depths.from; d < depths.to; d += depths.step)
    for (size_t i = d * w->in[0] + rows.from; i < d * w->in[0] + rows.to; i += rows.step)
      for (size_t j = columns.from; j < columns.to; j += columns.step)
        if (beats(x[i * width + j], x[best])) best = i * width + j;
  return best;
}

/* ---- four windows of a row side by side ---- */

typedef int64_t i64x4 __attribute__((vector_size(32), aligned(8), may_alias));

/* The larger of each lane, and its offset. */
static inline void take_larger(f32x4 *best, i32x4 *offset, f32x4 x, int32_t x_offset) {
  i32x4 larger = (x > *best) | (x != x);
  *best = f32x4_select(larger, x, *best);
  *offset = (i32x4_splat(x_offset) & larger) | (*offset & ~larger);
}

typedef struct Row {
  PoolRange depths, rows;
  size_t start; /* start of the plane in X */
} Row;

/* Windows j … j + 3, which have all of their columns on the input. */
static void four_windows(const Window *w, const Row *r, const float *x, size_t j, float *y, int64_t *indices) {
  size_t width = w->in[1], stride = w->stride[1], column = j * stride - w->pad[1],
         first = (r->depths.from * w->in[0] + r->rows.from) * width + column;
  f32x4 best = pool_lanes(x + first, stride);
  i32x4 offset = i32x4_splat((int32_t)first);
  for (size_t d = r->depths.from; d < r->depths.to; d += r->depths.step)
    for (size_t i = d * w->in[0] + r->rows.from; i < d * w->in[0] + r->rows.to; i += r->rows.step)
      for (size_t k = 0, at = i * width + column; k < w->kernel[1]; k++, at += w->dilation[1])
        take_larger(&best, &offset, pool_lanes(x + at, stride), (int32_t)at);
  f32x4_store(y + j, best);
  int64_t step = (int64_t)stride;
  i64x4 place = {0, step, 2 * step, 3 * step};
  if (indices) *(i64x4 *)(indices + j) = __builtin_convertvector(offset, i64x4) + place + (int64_t)r->start;
}

/* ---- values alone: the largest of each column first, then of columns ---- */

enum { COLUMNS = 2048 };

static inline f32x4 larger_of(f32x4 best, f32x4 x) { return f32x4_select((x > best) | (x != x), x, best); }

/* y = the largest of a, b and c; y may be a. */
static void take_rows(float *y, const float *a, const float *b, const float *c, size_t width) {
  size_t i = 0;
  for (; i + 4 <= width; i += 4)
    f32x4_store(y + i, larger_of(larger_of(f32x4_load(a + i), f32x4_load(b + i)), f32x4_load(c + i)));
  for (; i < width; i++) {
    float best = beats(b[i], a[i]) ? b[i] : a[i];
    y[i] = beats(c[i], best) ? c[i] : best;
  }
}

/* largest[c] of all the rows that a row of windows sees: two more at a time, the last of them twice where it is alone.
 */
static void columns_run(const Window *w, const Row *r, const float *x, float *largest) {
  size_t width = w->in[1], step = r->rows.step * width;
  const float *so_far = NULL;
  for (size_t d = r->depths.from; d < r->depths.to; d += r->depths.step) {
    const float *row = x + (d * w->in[0] + r->rows.from) * width, *end = x + (d * w->in[0] + r->rows.to) * width;
    for (size_t left; row < end; so_far = largest, row += left * step) {
      const float *first = so_far ? so_far : row;
      if (!so_far && row + step < end) row += step;
      left = row + step < end ? 2 : 1;
      take_rows(largest, first, row, left == 2 ? row + step : row, width);
    }
  }
}

/* Columns that a row of windows sees, padding on both sides with it. */
static size_t columns_seen(const Window *w) {
  size_t reach = (w->out[1] - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1, there = w->pad[1] + w->in[1];
  return reach > there ? reach : there;
}

/* The largest of four windows side by side; `stride` and `kernel` may be numbers that the compiler knows. */
static inline f32x4 four_values(const float *from, size_t stride, size_t kernel, size_t dilation) {
  f32x4 best = pool_lanes(from, stride);
  for (size_t k = 1; k < kernel; k++) best = larger_of(best, pool_lanes(from + k * dilation, stride));
  return best;
}

static void values_run(const Window *w, const Row *r, const float *x, float *y) {
  float column[COLUMNS];
  size_t stride = w->stride[1], kernel = w->kernel[1], dilation = w->dilation[1], columns = w->out[1], j = 0;
  for (size_t c = 0; c < w->pad[1]; c++) column[c] = -INFINITY;
  for (size_t c = w->pad[1] + w->in[1]; c < columns_seen(w); c++) column[c] = -INFINITY;
  columns_run(w, r, x, column + w->pad[1]);
  for (; columns >= 4 && j < columns; j += 4) {
    size_t at = j + 4 <= columns ? j : columns - 4;
    const float *from = column + at * stride;
    f32x4_store(y + at, stride == 1 && kernel == 3 ? four_values(from, 1, 3, dilation)
                        : stride == 1              ? four_values(from, 1, kernel, dilation)
                                                   : four_values(from, stride, kernel, dilation));
  }
  for (; j < columns; j++) {
    const float *from = column + j * stride;
    y[j] = *from;
    for (size_t k = 1; k < kernel; k++)
      if (beats(from[k * dilation], y[j])) y[j] = from[k * dilation];
  }
}

/* One output row of any window, rows counted over the depth. `indices` may be NULL. */
static void row_run(const Pool *pool, PoolRange fours, const float *x, size_t row, size_t plane, float *y,
                    int64_t *indices) {
  const Window *w = &pool->window;
  size_t depth = row < w->out[0] ? 0 : row / w->out[0]; /* a division takes as long as a small window */
  Row r = {pool_range(&pool->depth, 0, depth), pool_range(w, 0, row - depth * w->out[0]), plane * pool_in(pool)};
  if (!indices && columns_seen(w) <= COLUMNS) {
    values_run(w, &r, x, y);
    return;
  }
  for (size_t j = fours.from; j < fours.to; j += 4)
    four_windows(w, &r, x, j + 4 <= fours.to ? j : fours.to - 4, y, indices);
  for (size_t j = 0; j < w->out[1]; j++) {
    if (j >= fours.from && j < fours.to) continue;
    size_t best = largest(x, w, r.depths, r.rows, pool_range(w, 1, j));
    y[j] = x[best];
    if (indices) indices[j] = (int64_t)(r.start + best);
  }
}

/* Windows of 2 × 2 side by side, all on the input: the usual case, twice as fast with code of its own. */
static bool is_two_by_two(const Pool *pool) {
  const Window *w = &pool->window;
  if (pool->depth.in[0] != 1 || pool->depth.out[0] != 1) return false;
  for (int a = 0; a < 2; a++)
    if (w->kernel[a] != 2 || w->stride[a] != 2 || w->dilation[a] != 1 || w->pad[a] || w->in[a] < 2 * w->out[a])
      return false;
  return window_in(w) <= INT32_MAX;
}

/* Four windows of output row `row`, from column j on. */
static void two_by_two(const Window *w, const float *x, size_t row, size_t j, size_t plane, float *y,
                       int64_t *indices) {
  const float *top = x + 2 * row * w->in[1] + 2 * j, *bottom = top + w->in[1];
  int32_t width = (int32_t)w->in[1];
  f32x4 a = f32x4_load(top), b = f32x4_load(top + 4), c = f32x4_load(bottom), d = f32x4_load(bottom + 4);
  f32x4 best = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  i32x4 offset = i32x4_splat(0);
  take_larger(&best, &offset, __builtin_shufflevector(a, b, 1, 3, 5, 7), 1);
  take_larger(&best, &offset, __builtin_shufflevector(c, d, 0, 2, 4, 6), width);
  take_larger(&best, &offset, __builtin_shufflevector(c, d, 1, 3, 5, 7), width + 1);
  f32x4_store(y + j, best);
  i64x4 start = {0, 2, 4, 6};
  if (indices)
    *(i64x4 *)(indices + j) = __builtin_convertvector(offset, i64x4) + start +
                              (int64_t)(plane * window_in(w) + (size_t)(top - x));
}

/* A row of at least four windows; the last four may overlap those before. */
static void two_by_two_row(const Pool *pool, const float *x, size_t row, size_t plane, float *y, int64_t *indices) {
  const Window *w = &pool->window;
  size_t columns = w->out[1];
  for (size_t j = 0; j + 4 <= columns; j += 4) two_by_two(w, x, row, j, plane, y, indices);
  if (columns % 4) two_by_two(w, x, row, columns - 4, plane, y, indices);
}

/* Offsets in a picture kept column by column: the place (d, i, j) of a plane has there the number (j · rows + i) ·
 * depth + d. */
static void turn_indices(const Pool *pool, size_t plane, int64_t *indices) {
  size_t depth = pool->depth.in[0], rows = pool->window.in[0], columns = pool->window.in[1];
  for (size_t k = 0; k < pool_out(pool); k++) {
    size_t at = (size_t)indices[k] - plane * pool_in(pool), d = at / (rows * columns), i = at / columns % rows,
           j = at % columns;
    indices[k] = (int64_t)(plane * pool_in(pool) + (j * rows + i) * depth + d);
  }
}

static void run_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Pool *pool = n->params;
  size_t columns = pool->window.out[1];
  bool two = is_two_by_two(pool) && columns >= 4, turned = has_out(n, 1) && node_int(n, "storage_order", 0) != 0;
  PoolRange fours = pool_by_fours(pool);
  for (size_t plane = from; plane < to; plane++) {
    const float *x = in_f32(n, 0) + plane * pool_in(pool);
    for (size_t i = 0; i < pool->depth.out[0] * pool->window.out[0]; i++) {
      size_t at = plane * pool_out(pool) + i * columns;
      float *y = out_f32(n, 0) + at;
      int64_t *indices = has_out(n, 1) ? (int64_t *)n->out[1]->data + at : NULL;
      if (two) two_by_two_row(pool, x, i, plane, y, indices);
      else row_run(pool, fours, x, i, plane, y, indices);
    }
    if (turned) turn_indices(pool, plane, (int64_t *)n->out[1]->data + plane * pool_out(pool));
  }
}

static void max_pool_run(const Node *n) {
  const Pool *pool = n->params;
  threads_split(pool->planes, threads_grain(pool_in(pool)), run_planes, (void *)n);
}

/* MaxPoolGrad wants Indices in storage order 0: of the same MaxPool without that attribute. */
static Node *pool_again(Grad *g) {
  const Node *n = g->node;
  Attr *attrs = ARENA_ARRAY(g->graph->arena, Attr, n->attr_count);
  int count = 0;
  for (int i = 0; attrs && i < n->attr_count; i++)
    if (strcmp(n->attrs[i].name, "storage_order") != 0) attrs[count++] = n->attrs[i];
  return emit_node(g->graph, "MaxPool", (AttrList){attrs, count}, n->in, 1, 2, NULL);
}

static Status max_pool_grad(Grad *g) {
  Node *n = g->node;
  Value *indices = NULL;
  if (node_int(n, "storage_order", 0) != 0) {
    Node *rows_first = pool_again(g);
    indices = rows_first ? rows_first->out[1] : NULL;
  } else {
    TRY(second_output_want(n, "indices"));
    indices = n->out[1];
  }
  g->dx[0] = emit_with(g->graph, "MaxPoolGrad", node_attrs(n), g->dy[0], indices);
  return STATUS_OK;
}

OPERATOR(max_pool) = {
    .name = "MaxPool",
    .since = {1, 8, 10, 11, 12, 22},
    .inputs = {1, 1},
    .outputs = {1, 2},
    .flags = OP_SMALL_IN_FLOAT | OP_ATTRIBUTES,
    .infer = max_pool_infer,
    .run = max_pool_run,
    .grad = GRADIENT(max_pool_grad),
    .work = pool_work,
    .cases = CASES({"f32[1,2,7,17]", "kernel_shape=[3,4] strides=[2,4] pads=[0,1,1,0]", 0, 2},
                   {"f32[1,2,9,19]", "kernel_shape=[5,4] strides=[2,3] pads=[2,1,1,0]"},
                   {"f32[2,3,5,13]", "kernel_shape=[2,2] strides=[2,2]", 0, 2},
                   {"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1]", 0, 2},
                   {"f32[1,2,5,8]", "kernel_shape=[2,3] strides=[2,2] ceil_mode=1 pads=[0,1,0,1]"},
                   {"f32[1,2,7,8]", "kernel_shape=[2,3] dilations=[3,2] pads=[2,3,1,0]", 0, 2},
                   {"f32[1,2,5,6]", "kernel_shape=[3,3] strides=[2,2] auto_pad=SAME_UPPER", 8},
                   {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=SAME_LOWER", 10},
                   {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=VALID", 11},
                   {"f32[2,3,9]", "kernel_shape=[3] strides=[2] pads=[1,1]", 12, 2},
                   {"f32[2,2,4,5,6]", "kernel_shape=[2,3,2] strides=[2,1,2] pads=[1,0,1,0,1,0]", 0, 2},
                   {"f32[2,3,5,4]", "kernel_shape=[2,2] strides=[2,1] storage_order=1", 0, 2},
                   {"f32[1,2,3,4,5]", "kernel_shape=[2,2,2] storage_order=1", 0, 2},
                   {"f32[1,2,5,17]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", 0, 2},
                   {"f32[2,2,19]", "kernel_shape=[2] strides=[2]", 12, 2},
                   {"f32[1,2,3,4,12]", "kernel_shape=[2,2,3] dilations=[1,2,2] pads=[0,1,2,0,1,2]", 0, 2},
                   {"f32[1,2,6,5,8]", "kernel_shape=[2,2,2] strides=[2,2,2] dilations=[3,1,1] ceil_mode=1", 11}),
};
