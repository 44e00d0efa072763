/* Products of few rows: for each row, rows of B are added up, or dot products are taken along them. Products of little
 * depth: each row of C is written at once. */
#include "kernels/gemm_vector.h"
#include "kernels/gemm_pack.h"
#include "kernels/vector_math.h"
#include "simd.h"
#include "size.h"
#include "threads.h"
#include "variant.h"

enum {
  FEW = 3,      /* rows; from 4 on the packed tile is faster */
  SHALLOW = 4,  /* depth; a tile would be stored as soon as it is begun */
  CHUNK = 2048, /* sums at a time, on the stack: rows of B are read in runs of up to 8 KB, which are fetched ahead */
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
  if (g->b.line_stride == 1) return g->rows <= FEW || g->depth == 1;
  return g->rows <= FEW && g->b.k_stride == 1 && g->a.k_stride == 1;
}

/* C = Aᵀ · B of few rows of both, as the weights' gradient is at a small batch: it is C that takes time, and that is
 * written row by row. */
static bool is_shallow(const Gemm *g) {
  bool in_place = !g->a.k_table && !g->a.line_table && !g->b.k_table && !g->b.line_table && g->b.line_stride == 1;
  return in_place && g->rows > FEW && g->depth > 1 && g->depth <= SHALLOW;
}

/* A product with one column is treated as one with a single row if it has the same layout in memory. */
static bool is_column(const Gemm *g) {
  Gemm t = turned(g);
  return g->columns == 1 && g->c_row_stride == 1 && (!g->d || g->d_row_stride <= 1) && is_rows(&t);
}

/* A large B whose columns lie in rows is read faster as panels, which may be packed ahead. */
bool gemm_is_vector(const Gemm *g) {
  if (g->packed_a || g->packed_b || g->fill_b || g->group || g->depth == 0) return false;
  return (is_rows(g) && (g->b.line_stride == 1 || !gemm_is_large(g))) || is_shallow(g) || is_column(g);
}

bool gemm_vector_is_as_tile(const Gemm *g) {
  return is_shallow(g) || (is_rows(g) && g->b.line_stride == 1 && g->depth > 1);
}

/* Rows of sums, `stride` floats apart. */
typedef struct Sums {
  float *data;
  size_t stride;
} Sums;

/* sum[i][j] += Σk a[i][k] B[k][j] for a constant number of rows, 1 or 2, and of k, which are added one by one; the same
 * arithmetic for the last columns. */
static inline __attribute__((always_inline)) void add_terms(const int rows, const int terms, const GemmSource *a,
                                                            const float *b, size_t stride, size_t count, Sums sums) {
  f32x4 factor[2][4];
  float *sum = sums.data, *next = sum + sums.stride;
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < terms; k++)
      factor[i][k] = f32x4_splat(a->data[(size_t)i * a->line_stride + (size_t)k * a->k_stride]);
  size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    f32x4 one = f32x4_load(sum + j), two = rows > 1 ? f32x4_load(next + j) : one;
    for (int k = 0; k < terms; k++) {
      f32x4 bk = f32x4_load(b + (size_t)k * stride + j);
      one = f32x4_madd(factor[0][k], bk, one);
      if (rows > 1) two = f32x4_madd(factor[1][k], bk, two);
    }
    f32x4_store(sum + j, one);
    if (rows > 1) f32x4_store(next + j, two);
  }
  if (j == count) return;
  for (int i = 0; i < rows; i++) {
    float *to = i ? next : sum;
    f32x4 last = f32x4_load(to + j);
    for (int k = 0; k < terms; k++)
      last = f32x4_madd(factor[i][k], f32x4_load_up_to(b + (size_t)k * stride + j, count - j), last);
    f32x4_store(to + j, last);
  }
}

/* sum[i][j] = Σk a[i][k] B[k][j], some rows of B at a time, for all rows of A while the first cache holds them. */
static void add_rows(const Gemm *g, const float *b, size_t count, Sums sums) {
  size_t stride = g->b.k_stride, terms;
  memset(sums.data, 0, g->rows * sums.stride * sizeof(float));
  for (size_t k = 0; k < g->depth; k += terms, b += terms * stride) {
    size_t left = g->depth - k;
    terms = left >= 4 ? 4 : 1;
    for (size_t i = 0; i < g->rows; i += 2) {
      GemmSource a = {g->a.data + i * g->a.line_stride + k * g->a.k_stride, g->a.line_stride, g->a.k_stride};
      Sums to = {sums.data + i * sums.stride, sums.stride};
      bool pair = i + 1 < g->rows;
      if (terms == 4 && pair) add_terms(2, 4, &a, b, stride, count, to);
      else if (terms == 4) add_terms(1, 4, &a, b, stride, count, to);
      else if (pair) add_terms(2, 1, &a, b, stride, count, to);
      else add_terms(1, 1, &a, b, stride, count, to);
    }
  }
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

/* sum[i][j] = Σk a[i][k] Bᵀ[j][k]. Two at a time need fewer loads: two rows of A, or else of Bᵀ, unless that comes from
 * memory, of which one stream is fetched faster than two. */
static void dot_rows(const Gemm *g, const float *b, size_t count, Sums sums) {
  size_t line = g->a.line_stride, stride = g->b.line_stride, j = 0;
  bool pairs = g->rows == 1 && !gemm_is_large(g);
  for (; j + 2 <= count && pairs; j += 2) dots(2, g->a.data, b + j * stride, stride, g->depth, sums.data + j);
  for (; j < count; j++)
    for (size_t i = 0; i < g->rows; i += 2) {
      const float *a = g->a.data + i * line, *bj = b + j * stride;
      float sum[2], *to = sums.data + i * sums.stride + j;
      if (i + 1 == g->rows) {
        dots(1, a, bj, 0, g->depth, to);
      } else {
        dots(2, bj, a, line, g->depth, sum);
        to[0] = sum[0];
        to[sums.stride] = sum[1];
      }
    }
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

/* Row i of an outer product, columns from … from + count. */
static void outer_run(const Gemm *g, size_t i, size_t from, size_t count) {
  float a = g->a.data[i * g->a.line_stride], *c = g->c + i * g->c_row_stride + from;
  const float *b = g->b.data + from;
  const float *d = g->d ? g->d + i * g->d_row_stride + from * g->d_column_stride : NULL;
  if (!d && !g->clamp) scaled_row(g->alpha * a, b, count, c);
  else store_row(g, a, b, d, count, c);
}

/* c[i][j] = Σk a[i][k] B[k][j] for two rows and a constant number of k, added up as the tile does it */
static inline __attribute__((always_inline)) void sum_terms(const int terms, const GemmSource *a, const float *b,
                                                            size_t stride, size_t count, Sums c) {
  f32x4 factor[2][SHALLOW];
  float *one = c.data, *two = one + c.stride;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < terms; k++)
      factor[i][k] = f32x4_splat(a->data[(size_t)i * a->line_stride + (size_t)k * a->k_stride]);
  size_t j = 0;
  for (; j + 8 <= count; j += 8) {
    f32x4 sum[2][2] = {0};
    for (int k = 0; k < terms; k++)
      for (int v = 0; v < 2; v++) {
        f32x4 bk = f32x4_load(b + (size_t)k * stride + j + 4 * v);
        for (int i = 0; i < 2; i++) sum[i][v] = f32x4_madd(factor[i][k], bk, sum[i][v]);
      }
    for (int v = 0; v < 2; v++) f32x4_store(one + j + 4 * v, sum[0][v]);
    for (int v = 0; v < 2; v++) f32x4_store(two + j + 4 * v, sum[1][v]);
  }
  for (; j < count; j += 4) {
    f32x4 sum[2] = {0};
    for (int k = 0; k < terms; k++) {
      f32x4 bk = f32x4_load_up_to(b + (size_t)k * stride + j, count - j);
      for (int i = 0; i < 2; i++) sum[i] = f32x4_madd(factor[i][k], bk, sum[i]);
    }
    f32x4_store_up_to(one + j, sum[0], count - j);
    f32x4_store_up_to(two + j, sum[1], count - j);
  }
}

/* Two rows of a shallow product from row i on, columns from … from + count; the last of an odd number is computed with
 * the one before. */
static void shallow_run(const Gemm *g, size_t i, size_t from, size_t count) {
  size_t row = size_min(i, g->rows - 2);
  bool direct = row == i && g->alpha == 1 && !g->d && !g->clamp;
  float data[CHUNK];
  GemmSource a = {g->a.data + row * g->a.line_stride, g->a.line_stride, g->a.k_stride};
  Sums sums = direct ? (Sums){g->c + row * g->c_row_stride + from, g->c_row_stride} : (Sums){data, CHUNK / 2};
  if (g->depth == 2) sum_terms(2, &a, g->b.data + from, g->b.k_stride, count, sums);
  else if (g->depth == 3) sum_terms(3, &a, g->b.data + from, g->b.k_stride, count, sums);
  else sum_terms(4, &a, g->b.data + from, g->b.k_stride, count, sums);
  for (; i < row + 2 && !direct; i++) {
    const float *d = g->d ? g->d + i * g->d_row_stride + from * g->d_column_stride : NULL;
    store_row(g, 1, data + (i - row) * sums.stride, d, count, g->c + i * g->c_row_stride + from);
  }
}

/* Columns from … from + count of sums over a block of depth, which the next is added to. */
static void block_run(const Gemm *g, size_t from, size_t count, bool last) {
  float data[CHUNK];
  Sums sums = {data, (count + 3) / 4 * 4};
  const float *b = g->b.data + from * g->b.line_stride;
  Gemm as = *g;
  as.clamp = g->clamp && last;
  if (g->b.line_stride == 1) add_rows(g, b, count, sums);
  else dot_rows(g, b, count, sums);
  for (size_t i = 0; i < g->rows; i++) {
    const float *d = g->d ? g->d + i * g->d_row_stride + from * g->d_column_stride : NULL;
    store_row(&as, 1, data + i * sums.stride, d, count, g->c + i * g->c_row_stride + from);
  }
}

/* Rows of B are added up in blocks as the tile does it, so that it gives the same bits. */
static void chunk_run(const Gemm *g, size_t from, size_t count) {
  Gemm block = *g;
  size_t depth = g->b.line_stride == 1 ? gemm_block_depth(g->depth) : g->depth;
  for (size_t k = 0; k < g->depth; k += depth) {
    block.depth = size_min(depth, g->depth - k);
    block_run(&block, from, count, k + depth >= g->depth);
    block.a.data += depth * g->a.k_stride;
    block.b.data += depth * g->b.k_stride;
    block.d = g->c;
    block.beta = 1;
    block.d_row_stride = g->c_row_stride;
    block.d_column_stride = 1;
  }
}

/* ---- on all threads: chunks of columns, of all rows at once or of each item of them: one row of an outer product, two
 * of a shallow one. Chunks of many rows of C have theirs of B in the first cache ---- */

typedef void RunRows(const Gemm *g, size_t row, size_t from, size_t count);

typedef struct Rows {
  const Gemm *gemm;
  RunRows *run;
  size_t parts, items, item_rows;
  size_t across, columns; /* chunks of columns, in a chunk */
} Rows;

static void all_run(const Gemm *g, size_t row, size_t from, size_t count) { chunk_run(g, from, count); }

static void run_part(void *context, size_t part, int thread) {
  const Rows *r = context;
  const Gemm *g = r->gemm;
  size_t all = r->items * r->across, end = all * (part + 1) / r->parts;
  for (size_t i = all * part / r->parts; i < end; i++) {
    size_t from = i / r->items * r->columns;
    r->run(g, i % r->items * r->item_rows, from, size_min(r->columns, g->columns - from));
  }
}

static void rows_run(const Gemm *g) {
  Rows r = {.gemm = g, .run = all_run, .item_rows = g->rows, .parts = (size_t)threads_count()};
  if (g->depth == 1 && g->b.line_stride == 1) r.run = outer_run, r.item_rows = 1;
  else if (is_shallow(g)) r.run = shallow_run, r.item_rows = 2;
  uint64_t worth = (uint64_t)g->rows * g->columns * g->depth / PART_WORK;
  if (r.parts > worth) r.parts = worth ? (size_t)worth : 1;
  r.items = ceil_div(g->rows, r.item_rows);
  size_t share = ceil_div(g->columns, ceil_div(r.parts, r.items));
  size_t most = CHUNK / (r.run == all_run ? g->rows : g->depth) / 16 * 16;
  r.columns = size_min(ceil_div(share, 16) * 16, most);
  r.across = ceil_div(g->columns, r.columns);
  r.parts = size_min(r.parts, r.items * r.across);
  threads_run(r.parts, run_part, &r);
}

void gemm_vector_run(const Gemm *g) {
  variant_see(VARIANT_few_rows);
  if (is_rows(g) || is_shallow(g)) {
    rows_run(g);
    return;
  }
  Gemm t = turned(g);
  rows_run(&t);
}
