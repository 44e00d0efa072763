/* Padded: copying planes into a layout that needs no bounds. */
#include "kernels/padded.h"
#include <string.h>
#include "arena.h"
#include "simd.h"

bool padded_of_plane(const size_t in[2], const ptrdiff_t origin[2], size_t rows, size_t columns, size_t step,
                     Padded *p) {
  *p = (Padded){.in = {in[0], in[1]}, .origin = {origin[0], origin[1]}, .rows = rows, .step = step};
  bool inside = origin[0] == 0 && origin[1] == 0 && rows <= in[0] && columns <= in[1];
  p->direct = inside && step == 1;
  p->row_floats = p->direct ? in[1] : columns / step + (columns % step != 0);
  size_t step_rows = p->direct ? in[0] : rows;
  return size_multiply(step_rows, p->row_floats, &p->step_floats) &&
         size_multiply(p->step_floats, step, &p->plane_floats);
}

bool padded_of_window(const Window *w, Padded *p) {
  size_t size[2];
  for (int a = 0; a < 2; a++) {
    size_t slide, reach;
    if (!size_multiply(w->out[a] - 1, w->stride[a], &slide) ||
        !size_multiply(w->kernel[a] - 1, w->dilation[a], &reach) || !size_add(slide, reach, &size[a]) ||
        !size_add(size[a], 1, &size[a]))
      return false;
  }
  return padded_of_plane(w->in, (ptrdiff_t[]){(ptrdiff_t)w->pad[0], (ptrdiff_t)w->pad[1]}, size[0], size[1],
                         w->stride[1], p);
}

void padded_clear(const Padded *p, size_t planes, float *copy) {
  if (!p->direct) memset(copy, 0, planes * p->plane_floats * sizeof(float));
}

/* Rows of `count` neighbours; the last four of a row may overlap those before. A row is short: a call of memcpy would
 * cost more than the copy. */
static void copy_rows(const float *x, size_t x_stride, size_t count, size_t rows, float *to, size_t to_stride) {
  for (size_t row = 0; row < rows; row++, x += x_stride, to += to_stride) {
    if (count < 4) {
      for (size_t i = 0; i < count; i++) to[i] = x[i];
      continue;
    }
    for (size_t i = 0; i + 4 < count; i += 4) f32x4_store(to + i, f32x4_load(x + i));
    f32x4_store(to + count - 4, f32x4_load(x + count - 4));
  }
}

/* Columns [from, to) of the input are inside the padded row, which is split. */
static void split_row(const Padded *p, const float *x, size_t from, size_t to, float *row) {
  size_t at = (size_t)(p->origin[1] + (ptrdiff_t)from), step = at % p->step, column = at / p->step, i = from;
  if (p->step == 2 && step == 1 && i < to) row[p->step_floats + column++] = x[i++], step = 0;
  for (; p->step == 2 && i + 8 <= to; i += 8, column += 4) {
    f32x4 a = f32x4_load(x + i), b = f32x4_load(x + i + 4);
    f32x4_store(row + column, __builtin_shufflevector(a, b, 0, 2, 4, 6));
    f32x4_store(row + p->step_floats + column, __builtin_shufflevector(a, b, 1, 3, 5, 7));
  }
  for (; i < to; i++) {
    row[step * p->step_floats + column] = x[i];
    if (++step == p->step) step = 0, column++;
  }
}

/* The part of [0, in) that lands in [0, size) when 0 goes to `origin`. */
static void visible(ptrdiff_t origin, size_t in, size_t size, size_t *from, size_t *to) {
  *from = origin < 0 ? (size_t)-origin : 0;
  ptrdiff_t end = (ptrdiff_t)size - origin;
  *to = end < 0 ? 0 : (size_t)end < in ? (size_t)end : in;
  if (*from > *to) *from = *to;
}

const float *padded_copy(const Padded *p, const float *x, size_t planes, float *copy) {
  if (p->direct) return x;
  size_t top, bottom, left, right;
  visible(p->origin[0], p->in[0], p->rows, &top, &bottom);
  visible(p->origin[1], p->in[1], p->row_floats * p->step, &left, &right);
  if (top == bottom || left == right) return copy;
  for (size_t plane = 0; plane < planes; plane++) {
    const float *from = x + (plane * p->in[0] + top) * p->in[1];
    float *to = copy + plane * p->plane_floats + (size_t)(p->origin[0] + (ptrdiff_t)top) * p->row_floats;
    if (p->step == 1)
      copy_rows(from + left, p->in[1], right - left, bottom - top, to + (p->origin[1] + (ptrdiff_t)left),
                p->row_floats);
    else
      for (size_t row = top; row < bottom; row++, from += p->in[1], to += p->row_floats)
        split_row(p, from, left, right, to);
  }
  return copy;
}
