/* Resize where every output is an input: line by line; a line that stands twice is copied from y itself, where it is
 * nearest. */
#include "kernels/copy.h"
#include "ops/vision/resize_axes.h"
#include "simd.h"
#include "threads.h"

typedef struct Pick {
  const Resize *r;
  const ResizeAxis *rows; /* the axis before the last that changes */
  const float *x;
  float *y;
  int last;                 /* the last axis that changes: lines lie along it */
  size_t numbers, row_step; /* floats of a place of it, of a line of x */
} Pick;

/* Each of x twice, four by four; how many of x. */
static size_t twice(const float *x, size_t count, float *y) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    f32x4 v = f32x4_load(x + i);
    f32x4_store(y + 2 * i, __builtin_shufflevector(v, v, 0, 0, 1, 1));
    f32x4_store(y + 2 * i + 4, __builtin_shufflevector(v, v, 2, 2, 3, 3));
  }
  return i;
}

static void fill_outside(const Pick *p, float *y, size_t count) {
  for (size_t i = 0; i < count; i++) y[i] = p->r->outside;
}

static void pick_line(const Pick *p, const float *x, float *y) {
  const ResizeAxis *t = &p->r->axis[p->last];
  const int32_t *index = t->index;
  size_t numbers = p->numbers, out = t->out, o = t->twice && numbers == 1 ? 2 * twice(x, t->in, y) : 0;
  for (; o < out && numbers == 1 && t->inside; o++) y[o] = x[index[o]];
  for (; o < out; o++)
    if (index[o] < 0) fill_outside(p, y + o * numbers, numbers);
    else copy_bytes(y + o * numbers, x + (size_t)index[o] * numbers, numbers * sizeof *y);
}

/* The start in x of plane number `plane` of y, for the axes before the last two; -1: outside. */
static ptrdiff_t plane_source(const Pick *p, size_t plane) {
  size_t step = p->row_step * p->rows->in, at = 0;
  for (int a = p->last - 2; a >= 0; a--) {
    const ResizeAxis *t = &p->r->axis[a];
    int32_t index = t->index[plane % t->out];
    if (index < 0) return -1;
    at += (size_t)index * step;
    plane /= t->out, step *= t->in;
  }
  return (ptrdiff_t)at;
}

static void pick_lines(void *context, size_t from, size_t to) {
  const Pick *p = context;
  size_t numbers = p->r->axis[p->last].out * p->numbers, rows = p->rows->out, row = from % rows;
  float *y = p->y + from * numbers;
  ptrdiff_t plane = 0, before = -1;
  for (size_t line = from; line < to; line++, row++, y += numbers) {
    if (row == rows) row = 0;
    if (row == 0 || line == from) plane = plane_source(p, line / rows);
    int32_t index = p->rows->index[row];
    ptrdiff_t source = plane < 0 || index < 0 ? -1 : plane + (ptrdiff_t)((size_t)index * p->row_step);
    if (source < 0) fill_outside(p, y, numbers);
    else if (source == before) copy_bytes(y, y - numbers, numbers * sizeof *y);
    else pick_line(p, p->x + source, y);
    before = source;
  }
}

void resize_pick(const Resize *r, const float *x, float *y) {
  ResizeAxis one = {.in = 1, .out = 1, .index = (int32_t[]){0}};
  size_t lines = 1, numbers = 1;
  int last = r->rank - 1;
  for (; last > 0 && r->axis[last].same; last--) numbers *= r->axis[last].in;
  for (int a = 0; a < last; a++) lines *= r->axis[a].out;
  if (!lines) return;
  Pick p = {r, last ? &r->axis[last - 1] : &one, x, y, last, numbers, numbers * r->axis[last].in};
  threads_split(lines, threads_grain(numbers * r->axis[last].out), pick_lines, &p);
}
