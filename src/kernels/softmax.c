/* Softmax and its logarithm. inner = 1 goes along a row four at a time; else a strip of neighbouring columns goes down together,
 * wide enough to use every cache line whole. */
#include "kernels/softmax.h"

#include "kernels/reduce.h"
#include "kernels/vector_math.h"

/* ---- one row of n ---- */

/* The lanes of a row's last four beyond its end take `fill`. */
static f32x4 row_load(const float *x, size_t left, float fill) {
  if (left >= 4) return f32x4_load(x);
  f32x4 v = f32x4_splat(fill);
  for (size_t i = 0; i < left; i++) v[i] = x[i];
  return v;
}

static float row_max(const float *x, size_t n) {
  f32x4 max = f32x4_splat(-INFINITY);
  for (size_t i = 0; i < n; i += 4) max = f32x4_max(row_load(x + i, n - i, -INFINITY), max);
  return f32x4_max_lane(max);
}

/* Σ e^(x - max); the terms go to y unless it is NULL. Blocks of lanes are added in double. */
static double row_exp(const float *x, float max, float *y, size_t n) {
  enum { BLOCK = 256 };
  double sum = 0;
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t end = n - at < BLOCK ? n : at + BLOCK;
    f32x4 lanes = f32x4_splat(0);
    for (size_t i = at; i < end; i += 4) {
      f32x4 e = f32x4_exp(row_load(x + i, end - i, -INFINITY) - max);
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
  for (size_t i = 0; i < n; i += 4) lanes += row_load(dy + i, n - i, 0) * row_load(y + i, n - i, 0);
  float dot = f32x4_sum(lanes);
  for (size_t i = 0; i < n; i += 4) {
    f32x4 g = f32x4_load_up_to(dy + i, n - i) - dot;
    f32x4_store_up_to(dx + i, f32x4_load_up_to(y + i, n - i) * g, n - i);
  }
}

static void row_log_softmax(const float *x, float max, float log_sum, float *y, size_t n) {
  for (size_t i = 0; i < n; i += 4) f32x4_store_up_to(y + i, (f32x4_load_up_to(x + i, n - i) - max) - log_sum, n - i);
}

static void row_log_softmax_gradient(const float *dy, const float *y, float *dx, size_t n) {
  float sum = (float)reduce_sum_row(dy, n);
  for (size_t i = 0; i < n; i += 4) {
    f32x4 p = f32x4_exp(f32x4_load_up_to(y + i, n - i));
    f32x4_store_up_to(dx + i, f32x4_load_up_to(dy + i, n - i) - p * sum, n - i);
  }
}

/* ---- a strip of columns of n, `step` apart from one element to the next ---- */

enum { STRIP = 16 }; /* vectors side by side */

static size_t strip_columns(size_t left) { return left < 4 * STRIP ? left : 4 * STRIP; }

/* Does BODY for each row k and each vector v of the strip; `at` is the vector's place, `left` how many columns are left there. */
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

static void strip_exp(const float *x, const f32x4 max[STRIP], float *y, size_t step, size_t n, size_t columns, f32x4 sum[STRIP]) {
  strip_fill(sum, 0);
  EACH_VECTOR({
    f32x4 e = f32x4_exp(f32x4_load_up_to(x + at, left) - max[v]);
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

static void strip_log_softmax(const float *x, const float *max, const float *log_sum, float *y, size_t step, size_t n, size_t columns) {
  EACH_VECTOR({
    f32x4 shifted = f32x4_load_up_to(x + at, left) - f32x4_load_up_to(max + 4 * v, left);
    f32x4_store_up_to(y + at, shifted - f32x4_load_up_to(log_sum + 4 * v, left), left);
  })
}

static void strip_log_softmax_gradient(const float *dy, const float *y, float *dx, size_t step, size_t n, size_t columns) {
  f32x4 sum[STRIP];
  strip_fill(sum, 0);
  EACH_VECTOR(sum[v] += f32x4_load_up_to(dy + at, left);)
  EACH_VECTOR({
    f32x4 p = f32x4_exp(f32x4_load_up_to(y + at, left));
    f32x4_store_up_to(dx + at, f32x4_load_up_to(dy + at, left) - p * sum[v], left);
  })
}

/* ---- all of (outer, n, inner) ---- */

void softmax(SoftmaxDims d, const float *x, float *y) {
  for (size_t o = 0; o < d.outer; o++, x += d.n * d.inner, y += d.n * d.inner) {
    if (d.inner == 1) row_softmax(x, y, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4 * STRIP) strip_softmax(x + i, y + i, d.inner, d.n, strip_columns(d.inner - i));
  }
}

void softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx) {
  size_t slice = d.n * d.inner;
  for (size_t o = 0; o < d.outer; o++, dy += slice, y += slice, dx += slice) {
    if (d.inner == 1) row_softmax_gradient(dy, y, dx, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4 * STRIP)
        strip_softmax_gradient(dy + i, y + i, dx + i, d.inner, d.n, strip_columns(d.inner - i));
  }
}

void softmax_normalizers(SoftmaxDims d, const float *x, float *max, float *log_sum) {
  for (size_t o = 0; o < d.outer; o++, x += d.n * d.inner, max += d.inner, log_sum += d.inner) {
    if (d.inner == 1) {
      *max = row_max(x, d.n);
      *log_sum = f32x4_log(f32x4_splat((float)row_exp(x, *max, NULL, d.n)))[0];
      continue;
    }
    for (size_t i = 0; i < d.inner; i += 4 * STRIP)
      strip_normalizers(x + i, d.inner, d.n, strip_columns(d.inner - i), max + i, log_sum + i);
  }
}

void log_softmax(SoftmaxDims d, const float *x, const float *max, const float *log_sum, float *y) {
  size_t slice = d.n * d.inner;
  for (size_t o = 0; o < d.outer; o++, x += slice, y += slice, max += d.inner, log_sum += d.inner) {
    if (d.inner == 1) row_log_softmax(x, *max, *log_sum, y, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4 * STRIP)
        strip_log_softmax(x + i, max + i, log_sum + i, y + i, d.inner, d.n, strip_columns(d.inner - i));
  }
}

void log_softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx) {
  size_t slice = d.n * d.inner;
  for (size_t o = 0; o < d.outer; o++, dy += slice, y += slice, dx += slice) {
    if (d.inner == 1) row_log_softmax_gradient(dy, y, dx, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4 * STRIP)
        strip_log_softmax_gradient(dy + i, y + i, dx + i, d.inner, d.n, strip_columns(d.inner - i));
  }
}
