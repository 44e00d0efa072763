/* Phase: the gradient of a convolution's input consists of stride · stride phases, each a convolution of dy with stride
 * 1 and part of the kernel:
 *
 *   x row r + stride · q, r the phase, met kernel row i in y row  q + (r + pad - i · dilation) / stride,  if that
 * divides
 *
 * So nothing is multiplied by zeros. The phases read one padded dy. */
#pragma once
#include "kernels/padded.h"

typedef struct Phases {
  const Window *window;
  Padded dy;          /* with enough around it for every phase */
  ptrdiff_t first[2]; /* the y row and column that stand first in it */
  bool strided;       /* there is more than one phase: their pixels are not neighbours in x */
} Phases;

/* False when sizes overflow. */
bool phases_of(const Window *w, Phases *p);

/* Rows or columns of x in a phase. */
static inline size_t phase_size(const Window *w, int a, size_t phase) {
  return w->in[a] > phase ? (w->in[a] - phase - 1) / w->stride[a] + 1 : 0;
}

/* Kernel cell (i, j) in a phase: offset in the padded dy from a pixel's first; false when the cell is not in the phase.
 */
bool phase_cell(const Phases *p, const size_t phase[2], size_t i, size_t j, size_t *offset);

/* The plane's pixels of a phase into their places in x's plane. */
void phase_spread(const Window *w, const size_t phase[2], const float *pixels, float *dx);
