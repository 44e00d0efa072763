/* Recurrent product: panels of R side by side, each a small product of its own in the calling thread. */
#include "kernels/recurrent_product.h"

#include "kernels/gemm_pack.h"
#include "kernels/vector_math.h"
#include "size.h"

enum {
  PART_WORK = 1 << 19, /* multiplications */
  AT_ONCE = 4,         /* panels of a single row */
};

void recurrent_pack(const GemmSource *b, size_t columns, size_t depth, float *packed) {
  for (size_t j = 0; j < columns; j += RECURRENT_PANEL)
    gemm_pack_panel(b, j, size_min(RECURRENT_PANEL, columns - j), RECURRENT_PANEL, 0, depth, packed + j * depth);
}

static __attribute__((noinline)) void store_row(const RecurrentProduct *p, size_t column, const f32x4 *sum,
                                                size_t fours) {
  for (size_t i = 0; i < fours && column < p->columns; i++, column += 4) {
    f32x4 v = p->d ? sum[i] + f32x4_load_up_to(p->d + column, p->columns - column) : sum[i];
    f32x4_store_up_to(p->c + column, v, p->columns - column);
  }
}

/* A single row times a constant number of panels side by side, as the sums of one would wait for each other. */
static inline __attribute__((always_inline)) void row_of(const size_t panels, const RecurrentProduct *p, size_t panel) {
  f32x4 sum[2 * AT_ONCE] = {0};
  const float *a = p->packed_a, *b = p->packed_b + panel * RECURRENT_PANEL * p->depth;
  size_t stride = RECURRENT_PANEL * p->depth;
  for (size_t k = 0; k < p->depth; k++, b += RECURRENT_PANEL)
    for (size_t i = 0; i < 2 * panels; i++)
      sum[i] = f32x4_madd(f32x4_splat(a[k]), f32x4_load(b + i / 2 * stride + i % 2 * 4), sum[i]);
  store_row(p, panel * RECURRENT_PANEL, sum, 2 * panels);
}

static void row_run(const RecurrentProduct *p, size_t from, size_t to) {
  for (; from + AT_ONCE <= to; from += AT_ONCE) row_of(AT_ONCE, p, from);
  for (; from < to; from++) row_of(1, p, from);
}

static void rows_run(const RecurrentProduct *p, size_t panel, void *scratch) {
  size_t column = panel * RECURRENT_PANEL;
  Gemm g = {.rows = p->rows,
            .columns = size_min(RECURRENT_PANEL, p->columns - column),
            .depth = p->depth,
            .alpha = 1,
            .beta = 1};
  g.packed_a = p->packed_a;
  g.b = gemm_b(p->packed_b + column * p->depth, RECURRENT_PANEL, false);
  g.d = p->d ? p->d + column : NULL;
  g.d_row_stride = p->d_stride;
  g.d_column_stride = 1;
  g.c = p->c + column;
  g.c_row_stride = p->c_stride;
  gemm_run_alone(&g, scratch);
}

void recurrent_product(const RecurrentProduct *p, size_t from, size_t to, void *scratch) {
  if (p->rows == 1) row_run(p, from, to);
  else
    for (; from < to; from++) rows_run(p, from, scratch);
}

size_t recurrent_panels_at_once(size_t rows, size_t depth) {
#ifdef TRAINLET_SMALL_RANGES
  return 1;
#else
  size_t work = rows * depth * RECURRENT_PANEL;
  return work && work < PART_WORK ? PART_WORK / work : 1;
#endif
}
