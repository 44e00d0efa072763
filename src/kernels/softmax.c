/* Softmax and its logarithm. inner = 1 goes along a row four at a time; else four neighbouring places go down side by side. */
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

/* ---- up to four columns of n, `step` apart from one element to the next ---- */

static f32x4 column_max(const float *x, size_t step, size_t n, size_t left) {
  f32x4 max = f32x4_splat(-INFINITY);
  for (size_t k = 0; k < n; k++) max = f32x4_max(f32x4_load_up_to(x + k * step, left), max);
  return max;
}

static f32x4 column_exp(const float *x, f32x4 max, float *y, size_t step, size_t n, size_t left) {
  f32x4 sum = f32x4_splat(0);
  for (size_t k = 0; k < n; k++) {
    f32x4 e = f32x4_exp(f32x4_load_up_to(x + k * step, left) - max);
    if (y) f32x4_store_up_to(y + k * step, e, left);
    sum += e;
  }
  return sum;
}

static void column_softmax(const float *x, float *y, size_t step, size_t n, size_t left) {
  f32x4 scale = 1.0f / column_exp(x, column_max(x, step, n, left), y, step, n, left);
  for (size_t k = 0; k < n; k++) f32x4_store_up_to(y + k * step, f32x4_load_up_to(y + k * step, left) * scale, left);
}

static void column_softmax_gradient(const float *dy, const float *y, float *dx, size_t step, size_t n, size_t left) {
  f32x4 dot = f32x4_splat(0);
  for (size_t k = 0; k < n; k++) dot += f32x4_load_up_to(dy + k * step, left) * f32x4_load_up_to(y + k * step, left);
  for (size_t k = 0; k < n; k++) {
    f32x4 g = f32x4_load_up_to(dy + k * step, left) - dot;
    f32x4_store_up_to(dx + k * step, f32x4_load_up_to(y + k * step, left) * g, left);
  }
}

static void column_log_softmax(const float *x, f32x4 max, f32x4 log_sum, float *y, size_t step, size_t n, size_t left) {
  for (size_t k = 0; k < n; k++)
    f32x4_store_up_to(y + k * step, (f32x4_load_up_to(x + k * step, left) - max) - log_sum, left);
}

static void column_log_softmax_gradient(const float *dy, const float *y, float *dx, size_t step, size_t n, size_t left) {
  f32x4 sum = f32x4_splat(0);
  for (size_t k = 0; k < n; k++) sum += f32x4_load_up_to(dy + k * step, left);
  for (size_t k = 0; k < n; k++) {
    f32x4 p = f32x4_exp(f32x4_load_up_to(y + k * step, left));
    f32x4_store_up_to(dx + k * step, f32x4_load_up_to(dy + k * step, left) - p * sum, left);
  }
}

/* ---- all of (outer, n, inner) ---- */

void softmax(SoftmaxDims d, const float *x, float *y) {
  for (size_t o = 0; o < d.outer; o++, x += d.n * d.inner, y += d.n * d.inner) {
    if (d.inner == 1) row_softmax(x, y, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4) column_softmax(x + i, y + i, d.inner, d.n, d.inner - i);
  }
}

void softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx) {
  size_t slice = d.n * d.inner;
  for (size_t o = 0; o < d.outer; o++, dy += slice, y += slice, dx += slice) {
    if (d.inner == 1) row_softmax_gradient(dy, y, dx, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4) column_softmax_gradient(dy + i, y + i, dx + i, d.inner, d.n, d.inner - i);
  }
}

void softmax_normalizers(SoftmaxDims d, const float *x, float *max, float *log_sum) {
  for (size_t o = 0; o < d.outer; o++, x += d.n * d.inner, max += d.inner, log_sum += d.inner) {
    if (d.inner == 1) {
      *max = row_max(x, d.n);
      *log_sum = f32x4_log(f32x4_splat((float)row_exp(x, *max, NULL, d.n)))[0];
      continue;
    }
    for (size_t i = 0; i < d.inner; i += 4) {
      f32x4 m = column_max(x + i, d.inner, d.n, d.inner - i);
      f32x4_store_up_to(max + i, m, d.inner - i);
      f32x4_store_up_to(log_sum + i, f32x4_log(column_exp(x + i, m, NULL, d.inner, d.n, d.inner - i)), d.inner - i);
    }
  }
}

void log_softmax(SoftmaxDims d, const float *x, const float *max, const float *log_sum, float *y) {
  size_t slice = d.n * d.inner;
  for (size_t o = 0; o < d.outer; o++, x += slice, y += slice, max += d.inner, log_sum += d.inner) {
    if (d.inner == 1) row_log_softmax(x, *max, *log_sum, y, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4) {
        f32x4 m = f32x4_load_up_to(max + i, d.inner - i), s = f32x4_load_up_to(log_sum + i, d.inner - i);
        column_log_softmax(x + i, m, s, y + i, d.inner, d.n, d.inner - i);
      }
  }
}

void log_softmax_gradient(SoftmaxDims d, const float *dy, const float *y, float *dx) {
  size_t slice = d.n * d.inner;
  for (size_t o = 0; o < d.outer; o++, dy += slice, y += slice, dx += slice) {
    if (d.inner == 1) row_log_softmax_gradient(dy, y, dx, d.n);
    else
      for (size_t i = 0; i < d.inner; i += 4) column_log_softmax_gradient(dy + i, y + i, dx + i, d.inner, d.n, d.inner - i);
  }
}
