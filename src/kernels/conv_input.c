/* The gradient of a convolution's input: by phases, each a convolution of dy with stride 1 and part of the kernel.
 *
 *   x row r + stride · q, r the phase, met kernel row i in y row  q + (r + pad - i · dilation) / stride,  if that divides
 *
 * So nothing is multiplied by zeros and nothing is scattered but the phases' columns, where the stride is not 1. */
#include <string.h>
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "kernels/padded.h"
#include "kernels/scratch.h"

enum { COLUMNS_WANTED = 1024, LARGEST = 1 << 28 }; /* positions are signed and stay far from overflow */

static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }

typedef struct Input {
  Padded padded;      /* dy's planes with enough around them for every phase */
  ptrdiff_t first[2]; /* the y row and column that stand first in them */
  size_t images;      /* in a block */
  float *copy;        /* (images, F, plane) */
  int32_t *w_cell;    /* per phase and part cell (f, i, j) of a group: where w has it … */
  int32_t *dy_cell;   /* … and dy, from a pixel's first */
  int32_t *pixel;     /* offset of each pixel of a phase */
  float *packed;      /* w of every phase and group */
  float *phase;       /* (C / groups, images, pixels of a phase); only where the stride is not 1 */
  void *gemm;
} Input;

/* y positions that meet x along axis a: floor division, a may be negative */
static ptrdiff_t floor_divide(ptrdiff_t a, ptrdiff_t b) { return a / b - (a % b < 0); }

static size_t phase_size(const Window *w, int a, size_t phase) {
  return w->in[a] > phase ? (w->in[a] - phase - 1) / w->stride[a] + 1 : 0;
}

static bool input_plan(const Conv *conv, Input *s, Scratch *scratch) {
  const Window *w = &conv->window;
  ptrdiff_t origin[2];
  size_t size[2], planes, floats;
  for (int a = 0; a < 2; a++) {
    size_t reach;
    if (!size_multiply(w->kernel[a] - 1, w->dilation[a], &reach) || reach > LARGEST || w->pad[a] > LARGEST ||
        w->in[a] > LARGEST)
      return false;
    s->first[a] = floor_divide((ptrdiff_t)w->pad[a] - (ptrdiff_t)reach, (ptrdiff_t)w->stride[a]);
    ptrdiff_t last = floor_divide((ptrdiff_t)(w->in[a] - 1 + w->pad[a]), (ptrdiff_t)w->stride[a]);
    size[a] = (size_t)(last - s->first[a] + 1);
    origin[a] = -s->first[a];
  }
  if (!padded_of_plane(w->out, origin, size[0], size[1], 1, &s->padded)) return false;
  size_t pixels = phase_size(w, 0, 0) * phase_size(w, 1, 0), channels = conv->channels / conv->groups;
  size_t cells = conv->features / conv->groups * window_kernel(w);
  bool strided = w->stride[0] > 1 || w->stride[1] > 1;
  s->images = pixels < COLUMNS_WANTED ? COLUMNS_WANTED / pixels : 1;
  if (s->images > conv->batch) s->images = conv->batch ? conv->batch : 1;
  if (!size_multiply(s->images, conv->features, &planes) || !size_multiply(planes, s->padded.plane_floats, &floats) ||
      floats > INT32_MAX)
    return false;
  s->copy = scratch_take(scratch, s->padded.direct ? 0 : floats, 1, sizeof(float));
  s->w_cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->dy_cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->pixel = scratch_take(scratch, s->images, pixels, sizeof(int32_t));
  s->packed = scratch_take(scratch, conv->channels, cells, sizeof(float));
  s->phase = scratch_take(scratch, strided ? channels : 0, s->images * pixels, sizeof(float));
  s->gemm = scratch_take(scratch, 1, 1, gemm_scratch_bytes(0, s->images * pixels, cells));
  return !scratch->overflow;
}

bool conv_input_gradient_bytes(const Conv *conv, size_t *bytes) {
  Input s;
  Scratch scratch = {0};
  bool fits = input_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* Where kernel row i meets phase r: the row of the padded dy for q = 0; false when it does not divide. */
static bool meets(const Window *w, const Input *s, int a, size_t r, size_t i, size_t *row) {
  ptrdiff_t at = (ptrdiff_t)(r + w->pad[a]) - (ptrdiff_t)(i * w->dilation[a]), stride = (ptrdiff_t)w->stride[a];
  *row = (size_t)(floor_divide(at, stride) - s->first[a]);
  return at % stride == 0;
}

/* The cells (f, i, j) of a phase; gives how many. */
static size_t phase_cells(const Conv *conv, const Input *s, const size_t phase[2]) {
  const Window *w = &conv->window;
  size_t count = 0, kernel = window_kernel(w), channels = conv->channels / conv->groups, row, column;
  for (size_t f = 0; f < conv->features / conv->groups; f++)
    for (size_t i = 0; i < w->kernel[0]; i++)
      for (size_t j = 0; j < w->kernel[1]; j++) {
        if (!meets(w, s, 0, phase[0], i, &row) || !meets(w, s, 1, phase[1], j, &column)) continue;
        s->w_cell[count] = (int32_t)(f * channels * kernel + i * w->kernel[1] + j);
        s->dy_cell[count++] = (int32_t)(f * s->padded.plane_floats + padded_at(&s->padded, row, column));
      }
  return count;
}

static void phase_pixels(const Conv *conv, const Input *s, size_t rows, size_t columns) {
  int32_t *pixel = s->pixel;
  for (size_t n = 0; n < s->images; n++)
    for (size_t y = 0; y < rows; y++)
      for (size_t x = 0; x < columns; x++)
        *pixel++ = (int32_t)(n * conv->features * s->padded.plane_floats + padded_at(&s->padded, y, x));
}

/* dx's columns phase, phase + stride, … = the phase's, for all channels of a group */
static void phase_spread(const Conv *conv, const Input *s, const size_t phase[2], size_t rows, size_t columns, size_t images,
                         float *dx) {
  const Window *w = &conv->window;
  const float *from = s->phase;
  for (size_t c = 0; c < conv->channels / conv->groups; c++)
    for (size_t n = 0; n < images; n++)
      for (size_t y = 0; y < rows; y++) {
        float *row = dx + (n * conv->channels + c) * window_in(w) + (phase[0] + y * w->stride[0]) * w->in[1] + phase[1];
        for (size_t x = 0; x < columns; x++) row[x * w->stride[1]] = *from++;
      }
}

/* dx (C, images · pixels of the phase) = wᵀ (C, cells of the phase) · dy (cells, images · pixels), for each group */
static void phase_run(const Conv *conv, const Input *s, const size_t phase[2], const float *packed, size_t cells, const float *planes,
                      size_t images, float *dx) {
  const Window *w = &conv->window;
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups;
  size_t rows = phase_size(w, 0, phase[0]), columns = phase_size(w, 1, phase[1]);
  bool strided = w->stride[0] > 1 || w->stride[1] > 1;
  Gemm g = {.rows = channels, .columns = images * rows * columns, .depth = cells, .alpha = 1};
  g.b.line_table = s->pixel;
  g.b.k_table = s->dy_cell;
  g.c_row_stride = strided ? g.columns : window_in(w);
  g.group = strided ? 0 : window_in(w);
  g.group_stride = conv->channels * window_in(w);
  for (size_t i = 0; i < conv->groups; i++) {
    float *group_dx = dx + i * channels * window_in(w);
    g.packed_a = packed + i * channels * cells;
    g.b.data = planes + i * features * s->padded.plane_floats;
    g.c = strided ? s->phase : group_dx;
    gemm_run(&g, s->gemm);
    if (strided) phase_spread(conv, s, phase, rows, columns, images, group_dx);
  }
}

/* One phase of all images: tables and packed weights once, then block by block. */
static void phase_all(const Conv *conv, const Input *s, const size_t phase[2], const float *dy, const float *w, float *dx) {
  const Window *window = &conv->window;
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups, kernel = window_kernel(window);
  size_t cells = phase_cells(conv, s, phase);
  phase_pixels(conv, s, phase_size(window, 0, phase[0]), phase_size(window, 1, phase[1]));
  for (size_t i = 0; i < conv->groups; i++) {
    GemmSource a = {w + i * features * channels * kernel, .line_stride = kernel, .k_table = s->w_cell};
    gemm_pack_a(&a, channels, cells, s->packed + i * channels * cells);
  }
  for (size_t n = 0; n < conv->batch; n += s->images) {
    size_t images = least(s->images, conv->batch - n);
    const float *planes = padded_copy(&s->padded, dy + n * conv->features * window_out(window), images * conv->features, s->copy);
    phase_run(conv, s, phase, s->packed, cells, planes, images, dx + n * conv->channels * window_in(window));
  }
}

void conv_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch) {
  Input s;
  input_plan(conv, &s, &(Scratch){.base = scratch});
  size_t phase[2];
  for (phase[0] = 0; phase[0] < conv->window.stride[0]; phase[0]++)
    for (phase[1] = 0; phase[1] < conv->window.stride[1]; phase[1]++)
      if (phase[0] < conv->window.in[0] && phase[1] < conv->window.in[1]) phase_all(conv, &s, phase, dy, w, dx);
}
