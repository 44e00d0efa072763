/* Softmax and its logarithm. If inner is 1, it goes along a row, four elements at a time; else down a strip of
 * neighbouring columns together, wide enough to use whole cache lines. */
#include "kernels/softmax.h"

#include "kernels/sums.h"
#include "kernels/vector_math.h"
#include "part.h"
#include "threads.h"

/* ---- one row of n ---- */

/* In the last four of a row, lanes beyond its end take `fill`. */
static inline f32x4 row_load(const float *x, size_t left, float fill) {
  if (left >= 4) return f32x4_load(x);
  f32x4 v = {x[0], fill, fill, fill};
  if (left > 1) v[1] = x[1];
  if (left > 2) v[2] = x[2];
  return v;
}

static float row_max(const float *x, size_t n) {
  f32x4 a = f32x4_splat(-INFINITY), b = a;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    a = f32x4_max(f32x4_load(x + i), a);
    b = f32x4_max(f32x4_load(x + i + 4), b);
  }
  for (; i < n; i += 4) a = f32x4_max(row_load(x + i, n - i, -INFINITY), a);
  return f32x4_max_lane(f32x4_max(a, b));
}

/* Σ e^(x - max); the terms go to y unless it is NULL. Blocks of lanes are added in double. */
static inline __attribute__((always_inline)) double row_exp(const float *x, float max, float *y, size_t n) {
  enum { BLOCK = 256 };
  double sum = 0;
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t end = n - at < BLOCK ? n : at + BLOCK, i = at;
    f32x4 lanes = f32x4_splat(0);
    for (; i + 4 <= end; i += 4) {
      f32x4 e = f32x4_exp_below_0(f32x4_load(x + i) - max);
      if (y) f32x4_store(y + i, e);
      lanes += e;
    }
    if (i < end) {
      f32x4 e = f32x4_exp_below_0(row_load(x + i, end - i, -INFINITY) - max);
      if (y) f32x4_store_up_to(y + i, e, end - i);
      lanes += e;
    }
    sum += f32x4_sum(lanes);
  }
  return sum;
}

static void row_softmax(const float *x, float *y, size_t n) {
  float scale = (float)(1 / row_exp(x, row_max(x, n), y, n));
  for (size_t i = 0; i < n; i += 4) f32x4_store_up_to(y + i, f32x4_load_up_to(y + i, n - i) * scale, n - i);
}

static void row_softmax_gradient(const float *dy, const float *y, float *dx, size_t n) {
  f32x4 lanes = f32x4_splat(0);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) lanes += f32x4_load(dy + i) * f32x4_load(y + i);
  if (i < n) lanes += row_load(dy + i, n - i, 0) * row_load(y + i, n - i, 0);
  float dot = f32x4_sum(lanes);
  for (i = 0; i + 4 <= n; i += 4) f32x4_store(dx + i, f32x4_load(y + i) * (f32x4_load(dy + i) - dot));
  for (; i < n; i++) dx[i] = y[i] * (dy[i] - dot);
}

static void row_log_softmax(const float *x, float max, float log_sum, float *y, size_t n) {
  for (size_t i = 0; i < n; i += 4) f32x4_store_up_to(y + i, (f32x4_load_up_to(x + i, n - i) - max) - log_sum, n - i);
}

static void row_log_softmax_gradient(const float *dy, const float *y, float *dx, size_t n) {
  float sum = (float)reduce_sum_row(dy, n);
  for (size_t i = 0; i < n; i += 4) {
    f32x4 p = f32x4_exp_below_0(f32x4_load_up_to(y + i, n - i));
    f32x4_store_up_to(dx + i, f32x4_load_up_to(dy + i, n - i) - p * sum, n - i);
  }
}

/* ---- a strip of columns of n, `step` apart from one element to the next ---- */

enum { STRIP = 16 }; /* vectors side by side */

static size_t strip_columns(size_t left) { return left < 4 * STRIP ? left : 4 * STRIP; }

/* Does BODY for each row k and each vector v of the strip; `at` is the vector's place, `left` how many columns are left
 * there. */
#define EACH_VECTOR(BODY)                                                                                              \
  for (size_t k = 0; k < n; k++)                                                                                       \
    for (size_t v = 0, at = k * step, left = columns; v * 4 < columns; v++, at += 4, left -= 4) BODY

static void strip_fill(f32x4 strip[STRIP], float x) {
  for (int v = 0; v < STRIP; v++) strip[v] = f32x4_splat(x);
}

static void strip_max(const float *x, size_t step, size_t n, size_t columns, f32x4 max[STRIP]) {
  strip_fill(max, -INFINITY);
  EACH_VECTOR(max[v] = f32x4_max(f32x4_load_up_to(x + at, left), max[v]);)
}

static void strip_exp(const float *x, const f32x4 max[STRIP], float *y, size_t step, size_t n, size_t columns,
                      f32x4 sum[STRIP]) {
  strip_fill(sum, 0);
  EACH_VECTOR({
    f32x4 e = f32x4_exp_below_0(f32x4_load_up_to(x + at, left) - max[v]);
    if (y) f32x4_store_up_to(y + at, e, left);
    sum[v] += e;
  })
}

static void strip_softmax(const float *x, float *y, size_t step, size_t n, size_t columns) {
  f32x4 max[STRIP], sum[STRIP];
  strip_max(x, step, n, columns, max);
  strip_exp(x, max, y, step, n, columns, sum);
  for (int v = 0; v < STRIP; v++) sum[v] = 1.0f / sum[v];
  EACH_VECTOR(f32x4_store_up_to(y + at, f32x4_load_up_to(y + at, left) * sum[v], left);)
}

static void strip_softmax_gradient(const float *dy, const float *y, float *dx, size_t step, size_t n, size_t columns) {
  f32x4 dot[STRIP];
  strip_fill(dot, 0);
  EACH_VECTOR(dot[v] += f32x4_load_up_to(dy + at, left) * f32x4_load_up_to(y + at, left);)
  EACH_VECTOR({
    f32x4 g = f32x4_load_up_to(dy + at, left) - dot[v];
    f32x4_store_up_to(dx + at, f32x4_load_up_to(y + at, left) * g, left);
  })
}

static void strip_normalizers(const float *x, size_t step, size_t n, size_t columns, float *max, float *log_sum) {
  f32x4 m[STRIP], sum[STRIP];
  strip_max(x, step, n, columns, m);
  strip_exp(x, m, NULL, step, n, columns, sum);
  for (size_t v = 0; v * 4 < columns; v++) {
    f32x4_store_up_to(max + 4 * v, m[v], columns - 4 * v);
    f32x4_store_up_to(log_sum + 4 * v, f32x4_log(sum[v]), columns - 4 * v);
  }
}

static void strip_log_softmax(const float *x, const float *max, const float *log_sum, float *y, size_t step, size_t n,
                              size_t columns) {
  EACH_VECTOR({
    f32x4 shifted = f32x4_load_up_to(x + at, left) - f32x4_load_up_to(max + 4 * v, left);
    f32x4_store_up_to(y + at, shifted - f32x4_load_up_to(log_sum + 4 * v, left), left);
  })
}

static void strip_log_softmax_gradient(const float *dy, const float *y, float *dx, size_t step, size_t n,
                                       size_t columns) {
  f32x4 sum[STRIP];
  strip_fill(sum, 0);
  EACH_VECTOR(sum[v] += f32x4_load_up_to(dy + at, left);)
  EACH_VECTOR({
    f32x4 p = f32x4_exp_below_0(f32x4_load_up_to(y + at, left));
    f32x4_store_up_to(dx + at, f32x4_load_up_to(dy + at, left) - p * sum[v], left);
  })
}

OPTIONAL(columns_softmax, strip_softmax);
OPTIONAL(columns_softmax_gradient, strip_softmax_gradient);
OPTIONAL(columns_normalizers, strip_normalizers);
OPTIONAL(columns_log_softmax, strip_log_softmax);
OPTIONAL(columns_log_softmax_gradient, strip_log_softmax_gradient);

const char *softmax_missing(SoftmaxDims d) {
  return d.inner > 1 && !part_columns_softmax ? "softmax down columns" : NULL;
}

/* ---- all of (outer, n, inner): rows, or strips of columns, on all threads ---- */

typedef struct Softmax {
  SoftmaxDims d;
  const float *x, *y, *dy; /* read */
  float *out;
  float *max, *log_sum;
} Softmax;

typedef struct Place {
  size_t at;   /* in (outer, n, inner) */
  size_t norm; /* in (outer, inner) */
  size_t columns;
} Place;

static size_t strips_of(SoftmaxDims d) { return (d.inner + 4 * STRIP - 1) / (4 * STRIP); }

static Place place_of(SoftmaxDims d, size_t item) {
  if (d.inner == 1) return (Place){item * d.n, item, 1}; /* divisions take as long as a short row */
  size_t strips = strips_of(d), o = item / strips, i = item % strips * 4 * STRIP;
  return (Place){o * d.n * d.inner + i, o * d.inner + i, strip_columns(d.inner - i)};
}

/* A thread gets about 8192 elements at least. */
static void run(Softmax *s, ThreadsRange *range) {
  size_t each = s->d.n * strip_columns(s->d.inner);
  if (each) threads_split(s->d.outer * strips_of(s->d), 8192 / each + 1, range, s);
}

/* Defines the range `name`: ROW for rows, STRIP_OF for strips of columns, both of the place p. */
#define SOFTMAX_RANGE(name, ROW, STRIP_OF)                                                                             \
  static void name(void *context, size_t from, size_t to) {                                                            \
    const Softmax *s = context;                                                                                        \
    SoftmaxDims d = s->d;                                                                                              \
    for (size_t item = from; item < to; item++) {                                                                      \
      Place p = place_of(d, item);                                                                                     \
      if (d.inner == 1) ROW;                                                                                           \
      else STRIP_OF;                                                                                                   \
    }                                                                                                                  \
  }

SOFTMAX_RANGE(softmax_range, row_softmax(s->x + p.at, s->out + p.at, d.n),
              part_columns_softmax(s->x + p.at, s->out + p.at, d.inner, d.n, p.columns))

void softmax(SoftmaxDims d, const float *x, float *y) { run(&(Softmax){.d = d, .x = x, .out = y}, softmax_range); }

SOFTMAX_RANGE(gradient_range, row_softmax_gradient(s->dy + p.at, s->y + p.at, s->out + p.at, d.n),
              part_columns_softmax_gradient(s->dy + p.at, s->y + p.at, s->out + p.at, d.inner, d.n, p.columns))

void softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx) {
  run(&(Softmax){.d = d, .dy = dy, .y = y, .out = dx}, gradient_range);
}

static void row_normalizers(const float *x, size_t n, float *max, float *log_sum) {
  *max = row_max(x, n);
  *log_sum = f32x4_log(f32x4_splat((float)row_exp(x, *max, NULL, n)))[0];
}

SOFTMAX_RANGE(normalizers_range, row_normalizers(s->x + p.at, d.n, s->max + p.norm, s->log_sum + p.norm),
              part_columns_normalizers(s->x + p.at, d.inner, d.n, p.columns, s->max + p.norm, s->log_sum + p.norm))

void softmax_normalizers(SoftmaxDims d, const float *x, float *max, float *log_sum) {
  run(&(Softmax){.d = d, .x = x, .max = max, .log_sum = log_sum}, normalizers_range);
}

SOFTMAX_RANGE(log_range, row_log_softmax(s->x + p.at, s->max[p.norm], s->log_sum[p.norm], s->out + p.at, d.n),
              part_columns_log_softmax(s->x + p.at, s->max + p.norm, s->log_sum + p.norm, s->out + p.at, d.inner, d.n,
                                       p.columns))

void log_softmax(SoftmaxDims d, const float *x, const float *max, const float *log_sum, float *y) {
  run(&(Softmax){.d = d, .x = x, .max = (float *)max, .log_sum = (float *)log_sum, .out = y}, log_range);
}

SOFTMAX_RANGE(log_gradient_range, row_log_softmax_gradient(s->dy + p.at, s->y + p.at, s->out + p.at, d.n),
              part_columns_log_softmax_gradient(s->dy + p.at, s->y + p.at, s->out + p.at, d.inner, d.n, p.columns))

void log_softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx) {
  run(&(Softmax){.d = d, .dy = dy, .y = y, .out = dx}, log_gradient_range);
}
