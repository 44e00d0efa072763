/* Products of few rows: for each, rows of B added up, or dot products along them. */
#include "kernels/gemm_vector.h"
#include "simd.h"

enum {
  FEW = 3,     /* rows; from 4 on the packed tile is faster */
  CHUNK = 512, /* columns summed at a time, 2 KB */
};

/* Columns as rows: Cᵀ = Bᵀ · Aᵀ. */
static Gemm turned(const Gemm *g) {
  Gemm t = *g;
  t.rows = g->columns;
  t.columns = g->rows;
  t.a = g->b;
  t.b = g->a;
  t.d_row_stride = g->d_column_stride;
  t.d_column_stride = g->d_row_stride;
  return t;
}

static bool is_rows(const Gemm *g) {
  if (g->a.k_table || g->a.line_table || g->b.k_table || g->b.line_table) return false;
  bool few = g->rows <= FEW || g->depth == 1;
  return few && (g->b.line_stride == 1 || (g->b.k_stride == 1 && g->a.k_stride == 1));
}

/* A product of one column is one of one row when it lies in memory like one. */
static bool is_column(const Gemm *g) {
  Gemm t = turned(g);
  return g->columns == 1 && g->c_row_stride == 1 && is_rows(&t);
}

bool gemm_is_vector(const Gemm *g) {
  if (g->packed_a || g->group || g->depth == 0) return false;
  return is_rows(g) || is_column(g);
}

/* sum[j] = Σk a[k] B[k][j], four rows of B at a time */
static void add_rows(const Gemm *g, const float *a, const float *b, size_t count, float *sum) {
  size_t step = g->a.k_stride, stride = g->b.k_stride, k = 1;
  for (size_t j = 0; j < count; j++) sum[j] = a[0] * b[j];
  for (; k + 4 <= g->depth; k += 4) {
    float a0 = a[k * step], a1 = a[(k + 1) * step], a2 = a[(k + 2) * step], a3 = a[(k + 3) * step];
    const float *b0 = b + k * stride, *b1 = b0 + stride, *b2 = b1 + stride, *b3 = b2 + stride;
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
      f32x4 pair = f32x4_load(sum + j) + a0 * f32x4_load(b0 + j) + a1 * f32x4_load(b1 + j);
      f32x4_store(sum + j, pair + a2 * f32x4_load(b2 + j) + a3 * f32x4_load(b3 + j));
    }
    for (; j < count; j++) sum[j] = sum[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
  }
  for (; k < g->depth; k++)
    for (size_t j = 0; j < count; j++) sum[j] += a[k * step] * b[k * stride + j];
}

static float dot(const float *a, const float *b, size_t count) {
  f32x4 s0 = f32x4_splat(0), s1 = s0, s2 = s0, s3 = s0;
  size_t k = 0;
  for (; k + 16 <= count; k += 16) {
    s0 += f32x4_load(a + k) * f32x4_load(b + k);
    s1 += f32x4_load(a + k + 4) * f32x4_load(b + k + 4);
    s2 += f32x4_load(a + k + 8) * f32x4_load(b + k + 8);
    s3 += f32x4_load(a + k + 12) * f32x4_load(b + k + 12);
  }
  for (; k + 4 <= count; k += 4) s0 += f32x4_load(a + k) * f32x4_load(b + k);
  float sum = f32x4_sum((s0 + s1) + (s2 + s3));
  for (; k < count; k++) sum += a[k] * b[k];
  return sum;
}

/* Row i of C, columns from … from + count. */
static void chunk_run(const Gemm *g, size_t i, size_t from, size_t count) {
  float sum[CHUNK];
  const float *a = g->a.data + i * g->a.line_stride, *b = g->b.data + from * g->b.line_stride;
  float *c = g->c + i * g->c_row_stride + from;
  const float *d = g->d ? g->d + i * g->d_row_stride + from * g->d_column_stride : NULL;
  if (g->b.line_stride == 1) add_rows(g, a, b, count, sum);
  else
    for (size_t j = 0; j < count; j++) sum[j] = dot(a, b + j * g->b.line_stride, g->depth);
  for (size_t j = 0; j < count; j++) c[j] = gemm_clamp(g, g->alpha * sum[j] + (d ? g->beta * d[j * g->d_column_stride] : 0));
}

static void rows_run(const Gemm *g) {
  for (size_t i = 0; i < g->rows; i++)
    for (size_t from = 0; from < g->columns; from += CHUNK)
      chunk_run(g, i, from, g->columns - from < CHUNK ? g->columns - from : CHUNK);
}

void gemm_vector_run(const Gemm *g) {
  if (is_rows(g)) {
    rows_run(g);
    return;
  }
  Gemm t = turned(g);
  rows_run(&t);
}
