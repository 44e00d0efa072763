/* Recurrent product: a few rows times R, which is packed once for all steps, in panels of 8 columns. */
#pragma once
#include "kernels/gemm.h"
#include "size.h"

enum { RECURRENT_PANEL = 8 };

static inline size_t recurrent_panels(size_t columns) { return ceil_div(columns, RECURRENT_PANEL); }
static inline size_t recurrent_packed_floats(size_t columns, size_t depth) {
  return recurrent_panels(columns) * RECURRENT_PANEL * depth;
}

typedef struct RecurrentProduct {
  size_t rows, columns, depth;
  const float *packed_a, *packed_b;
  const float *d; /* added, NULL: 0 */
  size_t d_stride;
  float *c;
  size_t c_stride;
} RecurrentProduct;

void recurrent_pack(const GemmSource *b, size_t columns, size_t depth, float *packed);
/* Panels from … to - 1 of C = A · B + D, with scratch for a panel over the end. */
void recurrent_product(const RecurrentProduct *p, size_t from, size_t to, void *scratch);
/* The number of panels to do at once, so that waking a thread is worth it. */
size_t recurrent_panels_at_once(size_t rows, size_t depth);
