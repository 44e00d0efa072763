/* The gradient of a convolution's input through gemm, phase by phase (phase.h). */
#include <string.h>

#include "kernels/conv_blocks.h"
#include "kernels/conv_variant.h"
#include "kernels/gemm.h"
#include "kernels/phase.h"
#include "kernels/scratch.h"
#include "size.h"

typedef struct Input {
  const Conv *conv;
  const float *dy;
  float *dx;
  Phases phases;
  size_t images, blocks; /* images: in a block */
  float *copy;           /* one for each thread: dy padded, (images, F, plane) */
  int32_t *w_cell;       /* per cell (f, i, j) of a phase and group: where w has it … */
  int32_t *dy_cell;      /* … and dy, from a pixel's first */
  int32_t *pixel;        /* offset of each pixel of a phase */
  float *packed;         /* w of a phase, all groups */
  float *pixels; /* one for each thread: (C / groups, images, pixels of a phase); only with a stride other than 1 */
  char *gemm;    /* scratch of each thread */
  size_t copy_floats, pixels_floats, gemm_bytes;
  size_t phase[2], cells;
  bool cleared; /* dx is 0 where no phase has a cell */
} Input;

static bool input_plan(const Conv *conv, Input *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t planes, floats, threads = (size_t)threads_count();
  if (!phases_of(w, &s->phases)) return false;
  size_t pixels = phase_size(w, 0, 0) * phase_size(w, 1, 0), channels = conv->channels / conv->groups;
  size_t cells = conv->features / conv->groups * window_kernel(w);
  s->conv = conv;
  s->images = conv_images(conv, pixels);
  s->blocks = ceil_div(conv->batch, s->images);
  if (!size_multiply(s->images, conv->features, &planes) ||
      !size_multiply(planes, s->phases.dy.plane_floats, &floats) || floats > INT32_MAX)
    return false;
  s->copy_floats = s->phases.dy.direct ? 0 : floats;
  s->copy = scratch_take(scratch, threads, s->copy_floats, sizeof(float));
  s->w_cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->dy_cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->pixel = scratch_take(scratch, s->images, pixels, sizeof(int32_t));
  s->packed = scratch_take(scratch, conv->channels, cells, sizeof(float));
  s->pixels_floats = s->phases.strided ? channels * s->images * pixels : 0; /* not larger than dx's */
  s->pixels = scratch_take(scratch, threads, s->pixels_floats, sizeof(float));
  s->gemm_bytes = gemm_alone_bytes(0, s->images * pixels, cells);
  s->gemm = scratch_take(scratch, threads, s->gemm_bytes, 1);
  return !scratch->overflow;
}

static bool input_bytes(const Conv *conv, size_t *bytes) {
  Input s;
  Scratch scratch = {0};
  bool fits = input_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* The cells (f, i, j) of a phase; gives how many. */
static size_t phase_cells(const Conv *conv, const Input *s, const size_t phase[2]) {
  const Window *w = &conv->window;
  size_t count = 0, kernel = window_kernel(w), channels = conv->channels / conv->groups, offset;
  for (size_t f = 0; f < conv->features / conv->groups; f++)
    for (size_t i = 0; i < w->kernel[0]; i++)
      for (size_t j = 0; j < w->kernel[1]; j++) {
        if (!phase_cell(&s->phases, phase, i, j, &offset)) continue;
        s->w_cell[count] = (int32_t)(f * channels * kernel + i * w->kernel[1] + j);
        s->dy_cell[count++] = (int32_t)(f * s->phases.dy.plane_floats + offset);
      }
  return count;
}

static void phase_pixels(const Conv *conv, const Input *s, size_t rows, size_t columns) {
  int32_t *pixel = s->pixel;
  for (size_t n = 0; n < s->images; n++)
    for (size_t y = 0; y < rows; y++)
      for (size_t x = 0; x < columns; x++)
        *pixel++ = (int32_t)(n * conv->features * s->phases.dy.plane_floats + padded_at(&s->phases.dy, y, x));
}

/* dx (C, images · pixels of the phase) = wᵀ (C, cells of the phase) · dy (cells, images · pixels), for each group */
static void phase_task(void *context, size_t block, int thread) {
  const Input *s = context;
  const Conv *conv = s->conv;
  const Window *w = &conv->window;
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups;
  size_t pixels = phase_size(w, 0, s->phase[0]) * phase_size(w, 1, s->phase[1]);
  size_t first = block * s->images, images = size_min(s->images, conv->batch - first);
  const float *planes = padded_copy(&s->phases.dy, s->dy + first * conv->features * window_out(w),
                                    images * conv->features, s->copy + (size_t)thread * s->copy_floats);
  float *apart = s->pixels + (size_t)thread * s->pixels_floats;
  Gemm g = {.rows = channels, .columns = images * pixels, .depth = s->cells, .alpha = 1};
  if (images == 1 && s->phases.dy.direct && window_kernel(w) == 1) {
    g.b.line_stride = 1;
    g.b.k_stride = pixels;
  } else {
    g.b.line_table = s->pixel;
    g.b.k_table = s->dy_cell;
  }
  g.c_row_stride = s->phases.strided ? g.columns : pixels;
  g.group = s->phases.strided ? 0 : pixels;
  g.group_stride = conv->channels * pixels;
  for (size_t i = 0; i < conv->groups; i++) {
    float *dx = s->dx + (first * conv->channels + i * channels) * window_in(w);
    g.packed_a = s->packed + i * channels * s->cells;
    g.b.data = planes + i * features * s->phases.dy.plane_floats;
    g.c = s->phases.strided ? apart : dx;
    conv_product_of(conv, s->blocks)(&g, s->gemm + (size_t)thread * s->gemm_bytes);
    for (size_t c = 0; c < channels && s->phases.strided; c++)
      for (size_t n = 0; n < images; n++)
        phase_spread(w, s->phase, apart + (c * images + n) * pixels, dx + (n * conv->channels + c) * window_in(w));
  }
}

/* One phase of all images: tables and packed weights once, then block by block. */
static void phase_run(Input *s, const float *w) {
  const Conv *conv = s->conv;
  const Window *window = &conv->window;
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups,
         kernel = window_kernel(window);
  s->cells = phase_cells(conv, s, s->phase);
  if (s->cells == 0 && s->cleared) return;
  phase_pixels(conv, s, phase_size(window, 0, s->phase[0]), phase_size(window, 1, s->phase[1]));
  for (size_t i = 0; i < conv->groups; i++) {
    GemmSource a = {w + i * features * channels * kernel, .line_stride = kernel, .k_table = s->w_cell};
    gemm_pack_a(&a, channels, s->cells, s->packed + i * channels * s->cells);
  }
  conv_blocks_run(conv, s->blocks, phase_task, s);
}

static void input_gradient(const Conv *conv, const float *dy, const float *w, const float *bias, float *dx,
                           void *scratch) {
  Input s;
  input_plan(conv, &s, &(Scratch){.base = scratch});
  s.dy = dy, s.dx = dx;
  /* A kernel with fewer cells than there are phases leaves some of these without any: zeros, written side by side. */
  s.cleared = window_kernel(&conv->window) < conv->window.stride[0] * conv->window.stride[1];
  size_t numbers = conv->batch * conv->channels * window_in(&conv->window);
  if (s.cleared && numbers) memset(dx, 0, numbers * sizeof *dx);
  padded_clear(&s.phases.dy, (size_t)threads_count() * s.images * conv->features, s.copy);
  for (s.phase[0] = 0; s.phase[0] < size_min(conv->window.stride[0], conv->window.in[0]); s.phase[0]++)
    for (s.phase[1] = 0; s.phase[1] < size_min(conv->window.stride[1], conv->window.in[1]); s.phase[1]++)
      phase_run(&s, w);
}

static bool any(const Conv *conv) { return true; }

const ConvVariant conv_plain_input = {VARIANT_conv_plain_input, any, NULL, input_bytes, input_gradient};
