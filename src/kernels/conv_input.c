/* The gradient of a convolution's input through gemm, phase by phase (phase.h). */
#include "kernels/conv.h"
#include "kernels/depthwise.h"
#include "kernels/depthwise_spread.h"
#include "kernels/gemm.h"
#include "kernels/phase.h"
#include "kernels/scratch.h"
#include "kernels/winograd.h"

enum { COLUMNS_WANTED = 768 }; /* small images share one product until it has about as many columns */

static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }

typedef struct Input {
  Phases phases;
  size_t images;    /* in a block */
  float *copy;      /* dy padded: (images, F, plane) */
  int32_t *w_cell;  /* per cell (f, i, j) of a phase and group: where w has it … */
  int32_t *dy_cell; /* … and dy, from a pixel's first */
  int32_t *pixel;   /* offset of each pixel of a phase */
  float *packed;    /* w of a phase, all groups */
  float *pixels;    /* (C / groups, images, pixels of a phase); only where the stride is not 1 */
  void *gemm;
} Input;

static bool input_plan(const Conv *conv, Input *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t planes, floats;
  if (!phases_of(w, &s->phases)) return false;
  size_t pixels = phase_size(w, 0, 0) * phase_size(w, 1, 0), channels = conv->channels / conv->groups;
  size_t cells = conv->features / conv->groups * window_kernel(w);
  s->images = pixels < COLUMNS_WANTED ? COLUMNS_WANTED / pixels : 1;
  if (s->images > conv->batch) s->images = conv->batch ? conv->batch : 1;
  if (!size_multiply(s->images, conv->features, &planes) || !size_multiply(planes, s->phases.dy.plane_floats, &floats) ||
      floats > INT32_MAX)
    return false;
  s->copy = scratch_take(scratch, s->phases.dy.direct ? 0 : floats, 1, sizeof(float));
  s->w_cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->dy_cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->pixel = scratch_take(scratch, s->images, pixels, sizeof(int32_t));
  s->packed = scratch_take(scratch, conv->channels, cells, sizeof(float));
  s->pixels = scratch_take(scratch, s->phases.strided ? channels : 0, s->images * pixels, sizeof(float));
  s->gemm = scratch_take(scratch, 1, 1, gemm_scratch_bytes(0, s->images * pixels, cells));
  return !scratch->overflow;
}

bool conv_input_gradient_bytes(const Conv *conv, size_t *bytes) {
  *bytes = 0;
  if (conv->channels == conv->groups && depthwise_spread_pays(conv)) return true;
  if (conv->channels == conv->groups) return depthwise_input_gradient_bytes(conv, bytes);
  if (winograd_suits(conv)) {
    Conv turned = winograd_turned(conv);
    return winograd_forward_bytes(&turned, bytes);
  }
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
static void phase_run(const Conv *conv, const Input *s, const size_t phase[2], size_t cells, const float *planes, size_t images,
                      float *dx) {
  const Window *w = &conv->window;
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups;
  size_t pixels = phase_size(w, 0, phase[0]) * phase_size(w, 1, phase[1]);
  Gemm g = {.rows = channels, .columns = images * pixels, .depth = cells, .alpha = 1};
  g.b.line_table = s->pixel;
  g.b.k_table = s->dy_cell;
  g.c_row_stride = s->phases.strided ? g.columns : pixels;
  g.group = s->phases.strided ? 0 : pixels;
  g.group_stride = conv->channels * pixels;
  for (size_t i = 0; i < conv->groups; i++) {
    float *group_dx = dx + i * channels * window_in(w);
    g.packed_a = s->packed + i * channels * cells;
    g.b.data = planes + i * features * s->phases.dy.plane_floats;
    g.c = s->phases.strided ? s->pixels : group_dx;
    gemm_run(&g, s->gemm);
    for (size_t c = 0; c < channels && s->phases.strided; c++)
      for (size_t n = 0; n < images; n++)
        phase_spread(w, phase, s->pixels + (c * images + n) * pixels, group_dx + (n * conv->channels + c) * window_in(w));
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
    const float *planes = padded_copy(&s->phases.dy, dy + n * conv->features * window_out(window), images * conv->features, s->copy);
    phase_run(conv, s, phase, cells, planes, images, dx + n * conv->channels * window_in(window));
  }
}

void conv_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch) {
  if (conv->channels == conv->groups) { /* however many outputs: the product has one row */
    if (depthwise_spread_pays(conv)) depthwise_spread(conv, dy, w, dx);
    else depthwise_input_gradient(conv, dy, w, dx, scratch);
    return;
  }
  if (winograd_suits(conv)) {
    Conv turned = winograd_turned(conv);
    winograd_forward(&turned, dy, w, true, NULL, dx, scratch);
    return;
  }
  Input s;
  input_plan(conv, &s, &(Scratch){.base = scratch});
  padded_clear(&s.phases.dy, s.images * conv->features, s.copy);
  size_t phase[2];
  for (phase[0] = 0; phase[0] < conv->window.stride[0]; phase[0]++)
    for (phase[1] = 0; phase[1] < conv->window.stride[1]; phase[1]++)
      if (phase[0] < conv->window.in[0] && phase[1] < conv->window.in[1]) phase_all(conv, &s, phase, dy, w, dx);
}
