/* AveragePool: the mean of each window; count_include_pad counts the padding's zeros too. */
#include "ops/pool/average_pool.h"

#include <string.h>

#include "kernels/vector_math.h"
#include "size.h"
#include "threads.h"

static Status average_pool_infer(Node *n) {
  Shape y;
  Pool *pool;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, RANK_MAX));
  TRY(pool_infer(n, &n->in[0]->shape, &y, &pool));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

/* ---- some windows of a row: first the sums of each column that they see, then of columns ---- */

enum { COLUMNS = 2048 };

/* sums[c] = Σ x[c] of the rows of a view, of sixteen columns; */
static void add_sixteen(const float *x, const Window *w, const PoolView *v, float *sums) {
  f32x4 a = f32x4_splat(0), b = a, c = a, d = a;
  for (size_t k = v->depths.from; k < v->depths.to; k += v->depths.step)
    for (size_t i = v->rows.from; i < v->rows.to; i += v->rows.step) {
      const float *row = x + (k * w->in[0] + i) * w->in[1];
      a += f32x4_load(row), b += f32x4_load(row + 4), c += f32x4_load(row + 8), d += f32x4_load(row + 12);
    }
  f32x4_store(sums, a), f32x4_store(sums + 4, b), f32x4_store(sums + 8, c), f32x4_store(sums + 12, d);
}

/* or of up to four, of which `count` are there. */
static void add_four(const float *x, const Window *w, const PoolView *v, size_t count, float *sums) {
  f32x4 sum = f32x4_splat(0);
  for (size_t k = v->depths.from; k < v->depths.to; k += v->depths.step)
    for (size_t i = v->rows.from; i < v->rows.to; i += v->rows.step)
      sum += f32x4_load_up_to(x + (k * w->in[0] + i) * w->in[1], count);
  f32x4_store_up_to(sums, sum, count);
}

/* The sums of columns from … from + count - 1 of the padded plane; of a single row that is x itself. */
static const float *column_sums(const float *x, const Window *w, const PoolView *v, size_t from, size_t count,
                                float *sums) {
  size_t pad = w->pad[1], there = size_max(from, pad), end = size_min(from + count, pad + w->in[1]), n = end - there;
  bool is_row = v->depths.from + v->depths.step >= v->depths.to && v->rows.from + v->rows.step >= v->rows.to;
  if (is_row && n == count) return x + (v->depths.from * w->in[0] + v->rows.from) * w->in[1] + from - pad;
  float *to = sums + (there - from);
  x += there - pad;
  memset(sums, 0, (there - from) * sizeof *sums);
  size_t c = 0;
  for (; c + 16 <= n; c += 16) add_sixteen(x + c, w, v, to + c);
  for (; c < n; c += 4) add_four(x + c, w, v, n - c, to + c);
  memset(to + n, 0, (from + count - end) * sizeof *sums);
  return sums;
}

/* Four windows side by side; `stride` and `kernel` may be numbers that the compiler knows. */
static inline f32x4 four_sums(const float *column, size_t stride, size_t kernel, size_t dilation) {
  f32x4 sum = pool_lanes(column, stride);
  for (size_t k = 1; k < kernel; k++) sum += pool_lanes(column + k * dilation, stride);
  return sum;
}

static inline f32x4 four_of(const Window *w, const float *column) {
  size_t stride = w->stride[1], kernel = w->kernel[1], dilation = w->dilation[1];
  if (stride == 1 && kernel == 3) /* written out, as loops are not unrolled here */
    return f32x4_load(column) + f32x4_load(column + dilation) + f32x4_load(column + 2 * dilation);
  if (stride == 1) return four_sums(column, 1, kernel, dilation);
  return stride == 2 ? four_sums(column, 2, kernel, dilation) : four_sums(column, stride, kernel, dilation);
}

/* The counts of windows j … j + 3; those of `inner` have all of their columns on the input. */
static f32x4 four_counts(const Pool *pool, const PoolView *v, PoolRange inner, size_t j) {
  f32x4 counts = f32x4_splat((float)(v->row_count * pool->window.kernel[1]));
  for (size_t k = 0; k < 4; k++)
    if (j + k < inner.from || j + k >= inner.to) counts[k] = (float)(v->row_count * average_pool_count(pool, 1, j + k));
  return counts;
}

/* Windows from … to - 1, the first of which begins at *column. */
static void windows_run(const Pool *pool, const PoolView *v, PoolRange inner, const float *column, size_t from,
                        size_t to, float *y) {
  const Window *w = &pool->window;
  size_t stride = w->stride[1], j = from;
  f32x4 whole = f32x4_splat((float)(v->row_count * w->kernel[1]));
  for (; to - from >= 4 && j < to; j += 4) {
    size_t at = j + 4 <= to ? j : to - 4;
    bool inside = at >= inner.from && at + 4 <= inner.to;
    f32x4_store(y + at, four_of(w, column + (at - from) * stride) / (inside ? whole : four_counts(pool, v, inner, at)));
  }
  for (; j < to; j++) {
    float sum = 0;
    for (size_t k = 0; k < w->kernel[1]; k++) sum += column[(j - from) * stride + k * w->dilation[1]];
    y[j] = sum / (float)(v->row_count * average_pool_count(pool, 1, j));
  }
}

static float window_mean(const float *x, const Window *w, const PoolView *v) {
  float sum = 0;
  for (size_t d = v->depths.from; d < v->depths.to; d += v->depths.step)
    for (size_t i = v->rows.from; i < v->rows.to; i += v->rows.step)
      for (size_t j = v->columns.from; j < v->columns.to; j += v->columns.step)
        sum += x[(d * w->in[0] + i) * w->in[1] + j];
  return sum / v->count;
}

static void row_run(const Pool *pool, PoolView *v, PoolRange inner, const float *x, float *y) {
  const Window *w = &pool->window;
  float sums[COLUMNS];
  size_t stride = w->stride[1], reach = (w->kernel[1] - 1) * w->dilation[1] + 1, columns = w->out[1], to;
  for (size_t j = 0; j < columns && reach > COLUMNS; j++) {
    average_pool_column(pool, j, v);
    y[j] = window_mean(x, w, v);
  }
  for (size_t j = 0; j < columns && reach <= COLUMNS; j = to) {
    to = size_min(columns, j + (COLUMNS - reach) / stride + 1);
    const float *column = column_sums(x, w, v, j * stride, (to - j - 1) * stride + reach, sums);
    windows_run(pool, v, inner, column, j, to, y);
  }
}

static void run_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Pool *pool = n->params;
  PoolRange inner = pool_by_fours(pool);
  size_t rows = pool->depth.out[0] * pool->window.out[0];
  for (size_t i = from * rows; i < to * rows; i++) {
    PoolView view = average_pool_row(pool, i % rows);
    row_run(pool, &view, inner, in_f32(n, 0) + i / rows * pool_in(pool), out_f32(n, 0) + i * pool->window.out[1]);
  }
}

static void average_pool_run(const Node *n) {
  const Pool *pool = n->params;
  threads_split(pool->planes, threads_grain(pool_in(pool)), run_planes, (void *)n);
}

/* ---- gradient: dy / count repeated over each window where they lie side by side, else that of the depthwise
 * convolution that it is, with weights 1 / count. ONNX Runtime's own
 * AveragePoolGrad needs a fixed shape of dx, including the batch; ours, which it lacks, is used only for shapes that
 * are not known yet, and for three dimensions. ---- */

static bool planes_known(const Shape *s) {
  for (int i = 1; i < s->rank; i++)
    if (!dim_is_number(s->dim[i])) return false;
  return true;
}

/* Every window has the same count. */
static bool counts_alike(const Node *n, const WindowAttrs *w) {
  bool padded = w->padding == PAD_SAME_UPPER || w->padding == PAD_SAME_LOWER;
  for (int a = 0; a < w->rank; a++) padded |= w->pad_begin[a] || w->pad_end[a];
  return !w->ceil_mode && (!padded || node_int(n, "count_include_pad", 0));
}

/* counts (OH, OW) = rows (OH, 1) · columns (OW) */
static Value *emit_counts(Graph *g, const Pool *pool, int rank) {
  Value *counts = NULL;
  for (int a = 2 - rank; a < 2; a++) {
    size_t out = pool->window.out[a];
    Shape shape = a ? SHAPE((Dim)out) : SHAPE((Dim)out, 1);
    float *line = ARENA_ARRAY(g->arena, float, out);
    for (size_t i = 0; line && i < out; i++) line[i] = (float)average_pool_count(pool, a, i);
    Value *lines = line ? emit_floats(g, line, &shape) : NULL;
    counts = a == 1 && rank == 2 ? emit(g, "Mul", counts, lines) : lines;
  }
  return counts;
}

/* (N, C, W) as planes (N, C, 1, W): ONNX Runtime's ConvGrad of groups crashes in one dimension. */
static Value *emit_planes(Graph *g, Value *v) {
  if (!v || v->shape.rank == 4) return v;
  return emit(g, "Reshape", v, emit_ints(g, (int64_t[]){0, v->shape.dim[1], 1, v->shape.dim[2]}, 4));
}

/* Pads the end by as much as the last window extends beyond it, because Conv has no ceil_mode. */
static int64_t pad_after(const Window *w, int a) {
  size_t slid = (w->out[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1, have = w->in[a] + w->pad[a];
  return slid > have ? (int64_t)(slid - have) : 0;
}

static Value *emit_conv_grad(Graph *g, const Window *w, Value *dy, Value *x, float weight) {
  int64_t kernel[] = {(int64_t)w->kernel[0], (int64_t)w->kernel[1]},
          strides[] = {(int64_t)w->stride[0], (int64_t)w->stride[1]};
  int64_t dilations[] = {(int64_t)w->dilation[0], (int64_t)w->dilation[1]}, channels = x->shape.dim[1];
  int64_t pads[] = {(int64_t)w->pad[0], (int64_t)w->pad[1], pad_after(w, 0), pad_after(w, 1)};
  Shape one = SHAPE(1, 1, 1, 1);
  Value *weights = emit(g, "Tile", emit_floats(g, &weight, &one),
                        emit_ints(g, (int64_t[]){channels, 1, kernel[0], kernel[1]}, 4));
  AttrList attrs = ATTRS(attr_of_ints("kernel_shape", kernel, 2), attr_of_ints("strides", strides, 2),
                         attr_of_ints("pads", pads, 4), attr_of_ints("dilations", dilations, 2),
                         attr_of_int("group", channels));
  return emit_with(g, "ConvGrad", attrs, emit_planes(g, dy), emit_planes(g, x), weights);
}

/* Windows side by side that make up the whole input. */
static bool windows_tile(const Window *w) {
  for (int a = 0; a < 2; a++) {
    bool apart = w->stride[a] == w->kernel[a] || w->out[a] == 1;
    if (!apart || w->pad[a] || w->dilation[a] != 1 || w->in[a] != w->out[a] * w->kernel[a]) return false;
  }
  return true;
}

static Value *emit_repeated(Graph *g, const Window *w, Value *dy, int rank) {
  float scales[] = {1, 1, (float)w->kernel[2 - rank], (float)w->kernel[1]};
  Shape shape = SHAPE(2 + rank);
  AttrList attrs = ATTRS(attr_of_string("mode", "nearest"), attr_of_string("nearest_mode", "floor"),
                         attr_of_string("coordinate_transformation_mode", "asymmetric"));
  Value *each = emit(g, "Mul", dy, emit_float(g, 1 / (float)window_kernel(w)));
  return emit_with(g, "Resize", attrs, each, EMIT_ABSENT, emit_floats(g, scales, &shape));
}

static Status average_pool_grad(Grad *grad) {
  Graph *g = grad->graph;
  Node *n = grad->node;
  Value *x = n->in[0], *dy = grad->dy[0];
  WindowAttrs attrs;
  TRY(window_attrs(n, x->shape.rank - 2, NULL, &attrs));
  if (!planes_known(&x->shape) || attrs.rank == 3) {
    grad->dx[0] = emit_with(g, "AveragePoolGrad", node_attrs(n), dy, emit_shape(g, x));
    return STATUS_OK;
  }
  Pool pool = pool_of(n, &attrs, &x->shape, &n->out[0]->shape);
  if (windows_tile(&pool.window)) {
    grad->dx[0] = emit_repeated(g, &pool.window, dy, attrs.rank);
    return STATUS_OK;
  }
  bool alike = counts_alike(n, &attrs);
  if (!alike) dy = emit(g, "Div", dy, emit_counts(g, &pool, attrs.rank));
  Value *dx = emit_conv_grad(g, &pool.window, dy, x, alike ? 1 / (float)window_kernel(&pool.window) : 1);
  if (attrs.rank == 1) dx = emit(g, "Reshape", dx, emit_ints(g, (int64_t[]){0, x->shape.dim[1], x->shape.dim[2]}, 3));
  grad->dx[0] = dx;
  return STATUS_OK;
}

OPERATOR(average_pool) = {
    .name = "AveragePool",
    .since = {1, 7, 10, 11, 19},
    .inputs = {1, 1},
    .infer = average_pool_infer,
    .run = average_pool_run,
    .grad = GRADIENT(average_pool_grad),
    .work = pool_work,
    .cases = CASES(
        {"f32[1,2,7,17]", "kernel_shape=[3,4] strides=[2,4] pads=[0,1,1,0]"},
        {"f32[2,3,4,6]", "kernel_shape=[2,2] strides=[2,2]", 7},
        {"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1]"},
        {"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1] count_include_pad=1"},
        {"f32[1,2,5,8]", "kernel_shape=[2,3] strides=[2,2] ceil_mode=1 pads=[0,1,0,1]", 10},
        {"f32[1,2,6,8]", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1 pads=[1,1,1,1] count_include_pad=1", 11},
        {"f32[1,2,5,6]", "kernel_shape=[3,3] strides=[2,2] auto_pad=SAME_UPPER"},
        {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=SAME_LOWER count_include_pad=1"},
        {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=VALID"},
        {"f32[2,3,9]", "kernel_shape=[3] strides=[2] pads=[1,1]"}, {"f32[2,3,8]", "kernel_shape=[4] strides=[4]"},
        {"f32[2,3,7,6]", "kernel_shape=[7,6]"},
        {"f32[2,2,4,5,6]", "kernel_shape=[2,3,2] strides=[2,1,2] pads=[1,0,1,0,1,0]"},
        {"f32[1,2,5,4,6]", "kernel_shape=[3,2,2] strides=[2,2,2] pads=[1,0,1,1,0,1] ceil_mode=1 count_include_pad=1"},
        {"f32[1,2,10,9]", "kernel_shape=[3,2] dilations=[2,3] strides=[2,2] ceil_mode=1", 19},
        {"f32[1,2,5,6]", "kernel_shape=[2,2] pads=[1,0,0,0]"}, {"f32[2,3,1,1]", "kernel_shape=[1,1]"}),
};
