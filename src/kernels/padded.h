/* Padded: planes copied with their padding, so that a sliding window needs no bounds, and with every stride-th column
 * side by side, so that neighbours in the output are neighbours here.
 *
 *   plane: step 0 | step 1 | … | step stride-1      column q of the padded plane is in step q % stride at q / stride
 *   step:  rows × row_floats
 */
#pragma once
#include "kernels/window.h"

typedef struct Padded {
  size_t rows, row_floats, step_floats, plane_floats;
  size_t in[2];        /* size of the copied part */
  ptrdiff_t origin[2]; /* place of in[0][0] in the padded plane; negative cuts off */
  size_t step;         /* stride along columns */
  bool direct;         /* the planes are used as they are: nothing is copied */
} Padded;

/* The layout in which window `w` slides over its input. False when sizes overflow. */
bool padded_of_window(const Window *w, Padded *p);
/* Any other layout: rows × columns of which in[0] × in[1] stand at the origin. */
bool padded_of_plane(const size_t in[2], const ptrdiff_t origin[2], size_t rows, size_t columns, size_t step,
                     Padded *p);

/* Writes zeros, once; copying planes leaves the padding unchanged. */
void padded_clear(const Padded *p, size_t planes, float *copy);
/* Copies planes unless the layout is direct; gives the planes to read. */
const float *padded_copy(const Padded *p, const float *x, size_t planes, float *copy);

/* Offset of (row, column) of the padded plane. */
static inline size_t padded_at(const Padded *p, size_t row, size_t column) {
  return column % p->step * p->step_floats + row * p->row_floats + column / p->step;
}
