/* Recurrent product: panels of R side by side, each a small product of its own in the calling thread. */
#include "kernels/recurrent_product.h"

#include "kernels/gemm_pack.h"
#include "size.h"

enum { PART_WORK = 1 << 19 }; /* multiplications */

void recurrent_pack(const GemmSource *b, size_t columns, size_t depth, float *packed) {
  for (size_t j = 0; j < columns; j += RECURRENT_PANEL)
    gemm_pack_panel(b, j, size_min(RECURRENT_PANEL, columns - j), RECURRENT_PANEL, 0, depth, packed + j * depth);
}

void recurrent_product(const RecurrentProduct *p, size_t panel, void *scratch) {
  size_t column = panel * RECURRENT_PANEL;
  Gemm g = {.rows = p->rows,
            .columns = size_min(RECURRENT_PANEL, p->columns - column),
            .depth = p->depth,
            .alpha = 1,
            .beta = 1};
  g.a = gemm_a(p->a, p->a_stride, false);
  g.packed_a = p->packed_a;
  g.b = gemm_b(p->packed_b + column * p->depth, RECURRENT_PANEL, false);
  g.d = p->d ? p->d + column : NULL;
  g.d_row_stride = p->d_stride;
  g.d_column_stride = 1;
  g.c = p->c + column;
  g.c_row_stride = p->c_stride;
  gemm_run_alone(&g, scratch);
}

size_t recurrent_panels_at_once(size_t rows, size_t depth) {
#ifdef TRAINLET_SMALL_RANGES
  return 1;
#else
  size_t work = rows * depth * RECURRENT_PANEL;
  return work && work < PART_WORK ? PART_WORK / work : 1;
#endif
}
