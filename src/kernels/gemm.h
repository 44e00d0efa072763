/* Gemm: C = alpha · A · B + beta · D, clamped if wanted, in float32, through packed panels and one register tile.
 *
 *   A (rows × depth)    ─pack─▶ panels of up to 5 rows,  k-major ─┐
 *   B (depth × columns) ─pack─▶ panels of 8 columns,     k-major ─┴─▶ 5×8 tile ─▶ C (rows × columns)
 *
 * Every element of C is added up in the same order wherever it stands: k ascending inside equal blocks of at most 384,
 * blocks ascending.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The addresses of an operand's elements. `line` is a row of A or a column of B: element (line, k) = data[line ·
 * line_stride + k · k_stride]. A table that is not NULL replaces a stride. With tables a convolution is a product whose
 * operand is read straight from the image. */
typedef struct GemmSource {
  const float *data;
  size_t line_stride, k_stride;
  const int32_t *line_table, *k_table;
} GemmSource;

/* Fills packed[k · 8 + i] with element (from + k, column + i) of a B whose elements are no floats in memory: `depth` ks
 * of `count` columns, zeros up to the eighth. */
typedef void GemmFill(const void *b, size_t column, size_t count, size_t from, size_t depth, float *packed);

typedef struct Gemm {
  size_t rows, columns, depth;
  GemmSource a, b;
  GemmFill *fill_b; /* NULL: B is `b`; else what it makes of filled_b, a panel at a time */
  const void *filled_b;
  const float *packed_a, *packed_b; /* A packed by gemm_pack_a, B by gemm_pack_b; NULL: packed on the way */
  float alpha, beta;
  const float *d; /* D (rows × columns) by its strides; NULL: 0. It may be C itself */
  size_t d_row_stride;
  float *c;
  size_t c_row_stride;
  /* Column j of C (and of a D with column stride 1) is at (j / group) · group_stride + j % group: the images of a
   * batch. 0 is one group of all columns. */
  size_t group, group_stride;
  bool d_column_stride; /* 0 or 1 */
  bool clamp;           /* C is kept in low … high (Relu is 0 … inf); NaN stays NaN */
  float low, high;
} Gemm;

/* One element of C as it is finally stored. */
static inline float gemm_clamp(const Gemm *g, float v) {
  if (!g->clamp) return v;
  return v < g->low ? g->low : v > g->high ? g->high : v;
}

/* On all threads. Scratch grows with each size, to about 1.4 MB a thread; rows = 0 when A is packed already. */
size_t gemm_scratch_bytes(size_t rows, size_t columns, size_t depth);
size_t
gemm_bytes(const Gemm *g); /* scratch of this product alone, whose addresses need not be there: few rows take little */
void gemm_run(const Gemm *g, void *scratch);

/* In the calling thread, for callers that split their work themselves. The same bits. */
size_t gemm_alone_bytes(size_t rows, size_t columns, size_t depth);
void gemm_run_alone(const Gemm *g, void *scratch);

/* Sets the most rows of a tile, before anything is packed. The default suits V8; a compiler that keeps fewer sums in
 * registers is faster with fewer rows. The bits are the same. */
void gemm_set_rows(size_t rows);

/* A packed once for many products; `packed` holds rows · depth floats. */
void gemm_pack_a(const GemmSource *a, size_t rows, size_t depth, float *packed);
/* The same of B; `packed` holds depth · columns floats, these rounded up to a multiple of 16. Products of it must have
 * no group. */
size_t gemm_packed_b_floats(size_t columns, size_t depth);
void gemm_pack_b(const GemmSource *b, size_t columns, size_t depth, float *packed);
/* True if a product that runs many times with the same B gains by packing B once, with the same bits. */
bool gemm_packing_pays(const Gemm *g);

/* Matrices in rows of `lda`, `ldb` floats, transposed or not: the operands of BLAS. */
static inline GemmSource gemm_a(const float *a, size_t lda, bool transposed) {
  return transposed ? (GemmSource){a, .line_stride = 1, .k_stride = lda}
                    : (GemmSource){a, .line_stride = lda, .k_stride = 1};
}
static inline GemmSource gemm_b(const float *b, size_t ldb, bool transposed) {
  return transposed ? (GemmSource){b, .line_stride = ldb, .k_stride = 1}
                    : (GemmSource){b, .line_stride = 1, .k_stride = ldb};
}
