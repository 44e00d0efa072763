/* Products of few rows: for each row, rows of B are added up, or dot products are taken along them. */
#include "kernels/gemm_vector.h"
#include "simd.h"
#include "size.h"
#include "threads.h"
#include "way.h"

enum {
  FEW = 3,          /* rows; from 4 on the packed tile is faster */
  CHUNK = 512,      /* columns summed at a time, 2 KB */
  CACHED = 1 << 19, /* floats of B that the caches hold from step to step */
  PART_WORK =
      1 << 16, /* the fewest multiplications, with as many floats read or written, that are worth waking a thread */
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

/* A product with one column is treated as one with a single row if it has the same layout in memory. */
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
      f32x4 pair = f32x4_madd(f32x4_splat(a1), f32x4_load(b1 + j),
                              f32x4_madd(f32x4_splat(a0), f32x4_load(b0 + j), f32x4_load(sum + j)));
      f32x4_store(sum + j, f32x4_madd(f32x4_splat(a3), f32x4_load(b3 + j),
                                      f32x4_madd(f32x4_splat(a2), f32x4_load(b2 + j), pair)));
    }
    for (; j < count; j++) sum[j] = sum[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
  }
  for (; k < g->depth; k++)
    for (size_t j = 0; j < count; j++) sum[j] += a[k * step] * b[k * stride + j];
}

/* sum[i] = Σk a[k] b[i · stride + k] for a constant number of rows of Bᵀ; the order of the sum is the same for any
 * number. */
static inline __attribute__((always_inline)) void dots(const int rows, const float *a, const float *b, size_t stride,
                                                       size_t count, float *sum) {
  f32x4 even[2] = {0}, odd[2] = {0};
  size_t k = 0;
  for (; k + 8 <= count; k += 8) {
    f32x4 a0 = f32x4_load(a + k), a1 = f32x4_load(a + k + 4);
    for (int i = 0; i < rows; i++) {
      even[i] = f32x4_madd(a0, f32x4_load(b + (size_t)i * stride + k), even[i]);
      odd[i] = f32x4_madd(a1, f32x4_load(b + (size_t)i * stride + k + 4), odd[i]);
    }
  }
  for (int i = 0; i < rows; i++) {
    sum[i] = f32x4_sum(even[i] + odd[i]);
    for (size_t left = k; left < count; left++) sum[i] += a[left] * b[(size_t)i * stride + left];
  }
}

/* sum[j] = Σk a[k] Bᵀ[j][k]; two rows at a time need fewer loads, but from memory one stream is fetched faster than
 * two. */
static void dot_rows(const Gemm *g, const float *a, const float *b, size_t count, float *sum) {
  size_t stride = g->b.line_stride, j = 0;
  bool in_cache = (uint64_t)g->columns * g->depth <= CACHED;
  for (; j + 2 <= count && in_cache; j += 2) dots(2, a, b + j * stride, stride, g->depth, sum + j);
  for (; j < count; j++) dots(1, a, b + j * stride, stride, g->depth, sum + j);
}

/* c[j] = alpha · scale · sum[j] + beta · d[j], clamped */
static void store_row(const Gemm *g, float scale, const float *sum, const float *d, size_t count, float *c) {
  f32x4 low = f32x4_splat(g->clamp ? g->low : -INFINITY), high = f32x4_splat(g->clamp ? g->high : INFINITY);
  size_t j = 0;
  for (; j + 4 <= count && (!d || g->d_column_stride == 1); j += 4) {
    f32x4 v = g->alpha * (scale * f32x4_load(sum + j));
    if (d) v += g->beta * f32x4_load(d + j);
    f32x4_store(c + j, f32x4_min(high, f32x4_max(low, v)));
  }
  for (; j < count; j++)
    c[j] = gemm_clamp(g, g->alpha * (scale * sum[j]) + (d ? g->beta * d[j * g->d_column_stride] : 0));
}

/* c[j] = factor · b[j]: a row of an outer product, which can be as fast as memory only without store_row's
 * arithmetic */
static void scaled_row(float factor, const float *b, size_t count, float *c) {
  f32x4 factors = f32x4_splat(factor);
  size_t j = 0;
  for (; j + 16 <= count; j += 16)
    for (size_t k = 0; k < 16; k += 4) f32x4_store(c + j + k, factors * f32x4_load(b + j + k));
  for (; j < count; j++) c[j] = factor * b[j];
}

/* Row i of C, columns from … from + count. */
static void chunk_run(const Gemm *g, size_t i, size_t from, size_t count) {
  float sum[CHUNK];
  const float *a = g->a.data + i * g->a.line_stride, *b = g->b.data + from * g->b.line_stride;
  float *c = g->c + i * g->c_row_stride + from;
  const float *d = g->d ? g->d + i * g->d_row_stride + from * g->d_column_stride : NULL;
  if (g->depth == 1 && g->b.line_stride == 1) {
    if (!d && !g->clamp) scaled_row(g->alpha * *a, b, count, c);
    else store_row(g, *a, b, d, count, c);
    return;
  }
  if (g->b.line_stride == 1) add_rows(g, a, b, count, sum);
  else dot_rows(g, a, b, count, sum);
  store_row(g, 1, sum, d, count, c);
}

/* ---- on all threads: rows times chunks of columns ---- */

typedef struct Rows {
  const Gemm *gemm;
  size_t parts, across; /* chunks of columns in a row */
  size_t columns;       /* in a chunk */
} Rows;

static void run_part(void *context, size_t part, int thread) {
  const Rows *r = context;
  const Gemm *g = r->gemm;
  size_t items = g->rows * r->across, end = items * (part + 1) / r->parts;
  for (size_t item = items * part / r->parts; item < end; item++) {
    size_t from = item % r->across * r->columns, left = g->columns - from;
    chunk_run(g, item / r->across, from, left < r->columns ? left : r->columns);
  }
}

static void rows_run(const Gemm *g) {
  size_t threads = (size_t)threads_count(), columns = CHUNK;
  uint64_t worth = (uint64_t)g->rows * g->columns * g->depth / PART_WORK;
  Rows r = {.gemm = g, .parts = threads < worth ? threads : worth ? (size_t)worth : 1};
  while (columns > 32 && g->rows * ceil_div(g->columns, columns) < 2 * r.parts) columns /= 2;
  r.columns = r.parts > 1 ? columns : CHUNK;
  r.across = (g->columns + r.columns - 1) / r.columns;
  if (r.parts > g->rows * r.across) r.parts = g->rows * r.across;
  threads_run(r.parts, run_part, &r);
}

void gemm_vector_run(const Gemm *g) {
  way_see(WAY_few_rows);
  if (is_rows(g)) {
    rows_run(g);
    return;
  }
  Gemm t = turned(g);
  rows_run(&t);
}
