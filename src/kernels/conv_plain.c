/* Convolution by gemm: the tables that turn it into a product. */
#include <string.h>
#include "kernels/conv_blocks.h"
#include "kernels/conv_variant.h"
#include "kernels/gemm.h"
#include "kernels/padded.h"
#include "kernels/scratch.h"
#include "size.h"
#include "threads.h"

/* ---- forward and the weights' gradient: x padded, one table over kernel cells, one over pixels ---- */

typedef struct Slide {
  Padded padded;
  size_t images; /* in a block */
  size_t cells;  /* (C / groups) · KH · KW */
  size_t pixels; /* OH · OW */
  size_t blocks;
  float *copy;    /* one for each thread: (images, C, plane) */
  int32_t *cell;  /* offset of each kernel cell from a pixel's first one */
  int32_t *pixel; /* offset of each pixel's first cell, through all images of a block */
  float *packed;  /* forward: w */
  int32_t *dy;    /* weight gradient: offset of each pixel of dy, through all images of a block */
  char *gemm;     /* scratch of each thread */
  size_t copy_floats, gemm_bytes;
} Slide;

static size_t weight_scratch_bytes(size_t features, size_t cells, size_t depth) {
  size_t a = gemm_alone_bytes(features, cells, depth), b = gemm_alone_bytes(cells, features, depth);
  return a > b ? a : b;
}

static bool slide_plan(const Conv *conv, bool forward, Slide *s, Scratch *scratch) {
  size_t planes, floats, threads = (size_t)threads_count();
  if (!padded_of_window(&conv->window, &s->padded)) return false;
  s->cells = conv->channels / conv->groups * window_kernel(&conv->window);
  s->pixels = window_out(&conv->window);
  s->images = conv_images(conv, s->pixels);
  if (!size_multiply(s->images, conv->channels, &planes) || !size_multiply(planes, s->padded.plane_floats, &floats) ||
      floats > INT32_MAX)
    return false;
  s->blocks = ceil_div(conv->batch, s->images);
  s->copy_floats = s->padded.direct ? 0 : floats;
  s->copy = scratch_take(scratch, forward ? threads : 1, s->copy_floats, sizeof(float));
  s->cell = scratch_take(scratch, s->cells, 1, sizeof(int32_t));
  s->pixel = scratch_take(scratch, s->images, s->pixels, sizeof(int32_t));
  s->packed = scratch_take(scratch, forward ? conv->features : 0, s->cells, sizeof(float));
  s->dy = scratch_take(scratch, forward ? 0 : s->images, s->pixels, sizeof(int32_t));
  size_t features = conv->features / conv->groups, columns = s->images * s->pixels;
  s->gemm_bytes = forward ? gemm_alone_bytes(0, columns, s->cells) : weight_scratch_bytes(features, s->cells, columns);
  s->gemm = scratch_take(scratch, threads, s->gemm_bytes, 1);
  return !scratch->overflow;
}

static void slide_tables(const Conv *conv, const Slide *s) {
  const Window *w = &conv->window;
  int32_t *cell = s->cell, *pixel = s->pixel;
  for (size_t c = 0; c < conv->channels / conv->groups; c++)
    for (size_t i = 0; i < w->kernel[0]; i++)
      for (size_t j = 0; j < w->kernel[1]; j++)
        *cell++ = (int32_t)(c * s->padded.plane_floats + padded_at(&s->padded, i * w->dilation[0], j * w->dilation[1]));
  for (size_t n = 0; n < s->images; n++)
    for (size_t y = 0; y < w->out[0]; y++)
      for (size_t x = 0; x < w->out[1]; x++)
        *pixel++ = (int32_t)(n * conv->channels * s->padded.plane_floats +
                             padded_at(&s->padded, y * w->stride[0], x * w->stride[1]));
}

static bool forward_bytes(const Conv *conv, size_t *bytes) {
  Slide s;
  Scratch scratch = {0};
  bool fits = slide_plan(conv, true, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

static bool weight_gradient_bytes(const Conv *conv, size_t *bytes) {
  Slide s;
  Scratch scratch = {0};
  bool fits = slide_plan(conv, false, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

static size_t packed_floats(const Conv *conv) {
  return conv->features * (conv->channels / conv->groups) * window_kernel(&conv->window);
}

static void pack(const Conv *conv, const float *w, float *packed, void *scratch) {
  size_t features = conv->features / conv->groups, cells = conv->channels / conv->groups * window_kernel(&conv->window);
  for (size_t i = 0; i < conv->features; i += features) {
    GemmSource a = gemm_a(w + i * cells, cells, false);
    gemm_pack_a(&a, features, cells, packed + i * cells);
  }
}

typedef struct Forward {
  const Conv *conv;
  Slide slide;
  const float *x, *bias, *packed;
  float *y;
} Forward;

/* y (F, images · pixels) = w (F, cells) · x (cells, images · pixels) + bias, for each group */
static void forward_task(void *context, size_t block, int thread) {
  const Forward *f = context;
  const Conv *conv = f->conv;
  const Slide *s = &f->slide;
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups;
  size_t first = block * s->images, images = size_min(s->images, conv->batch - first);
  const float *planes = padded_copy(&s->padded, f->x + first * conv->channels * window_in(&conv->window),
                                    images * conv->channels, s->copy + (size_t)thread * s->copy_floats);
  Gemm g = {.rows = features,
            .columns = images * s->pixels,
            .depth = s->cells,
            .alpha = 1,
            .beta = 1,
            .clamp = conv->clamp,
            .low = conv->low,
            .high = conv->high};
  g.c_row_stride = g.group = s->pixels;
  g.group_stride = conv->features * s->pixels;
  g.d_row_stride = 1;
  if (images == 1 && s->padded.direct && window_kernel(&conv->window) == 1) {
    g.b.line_stride = 1;
    g.b.k_stride = s->pixels;
  } else {
    g.b.line_table = s->pixel;
    g.b.k_table = s->cell;
  }
  for (size_t i = 0; i < conv->groups; i++) {
    g.packed_a = f->packed + i * features * s->cells;
    g.b.data = planes + i * channels * s->padded.plane_floats;
    g.d = f->bias ? f->bias + i * features : NULL;
    g.c = f->y + (first * conv->features + i * features) * s->pixels;
    conv_product_of(conv, s->blocks)(&g, s->gemm + (size_t)thread * s->gemm_bytes);
  }
}

static void forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  Forward f = {.conv = conv, .x = x, .bias = bias, .packed = conv->packed, .y = y};
  slide_plan(conv, true, &f.slide, &(Scratch){.base = scratch});
  padded_clear(&f.slide.padded, (size_t)threads_count() * f.slide.images * conv->channels, f.slide.copy);
  slide_tables(conv, &f.slide);
  if (!f.packed) {
    pack(conv, w, f.slide.packed, NULL);
    f.packed = f.slide.packed;
  }
  conv_blocks_run(conv, f.slide.blocks, forward_task, &f);
}

static bool any(const Conv *conv) { return true; }

const ConvVariant conv_plain = {VARIANT_conv_plain, any, NULL, forward_bytes, forward, packed_floats, pack};

/* Panels are 8 columns wide: if there are few cells, they are better as the rows of dwᵀ than as the columns of dw. */
static bool cells_as_rows(size_t features, size_t cells) {
  return (features + 7) / 8 * 8 * cells < (cells + 7) / 8 * 8 * features;
}

/* The product of one block of images; a and b get their group's data later. */
static Gemm weight_product(const Conv *conv, const Slide *s, size_t images) {
  size_t features = conv->features / conv->groups;
  GemmSource dy = {.line_stride = s->pixels, .k_table = s->dy}, x = {.line_table = s->cell, .k_table = s->pixel};
  Gemm g = {.rows = features, .columns = s->cells, .depth = images * s->pixels, .a = dy, .b = x, .alpha = 1, .beta = 1};
  g.c_row_stride = g.d_row_stride = s->cells;
  g.d_column_stride = 1;
  if (!cells_as_rows(features, s->cells)) return g;
  g.rows = s->cells;
  g.columns = features;
  g.a = x;
  g.b = dy;
  g.c_row_stride = g.d_row_stride = g.group = 1; /* every column of dwᵀ is a row of dw */
  g.group_stride = s->cells;
  return g;
}

/* dw (F, cells) += dy (F, images · pixels) · xᵀ (images · pixels, cells), for each group */
static void weight_block(const Conv *conv, const Slide *s, const float *x, const float *dy, size_t images, float *dw,
                         bool first) {
  size_t features = conv->features / conv->groups, channels = conv->channels / conv->groups;
  const float *planes = padded_copy(&s->padded, x, images * conv->channels, s->copy);
  Gemm g = weight_product(conv, s, images);
  bool turned = g.group == 1;
  for (size_t i = 0; i < conv->groups; i++) {
    (turned ? &g.b : &g.a)->data = dy + i * features * s->pixels;
    (turned ? &g.a : &g.b)->data = planes + i * channels * s->padded.plane_floats;
    g.c = dw + i * features * s->cells;
    g.d = first ? NULL : g.c;
    gemm_run(&g, s->gemm);
  }
}

static void weight_gradient(const Conv *conv, const float *x, const float *dy, const float *bias, float *dw,
                            void *scratch) {
  Slide s;
  slide_plan(conv, false, &s, &(Scratch){.base = scratch});
  padded_clear(&s.padded, s.images * conv->channels, s.copy);
  slide_tables(conv, &s);
  for (size_t n = 0; n < s.images; n++)
    for (size_t i = 0; i < s.pixels; i++) s.dy[n * s.pixels + i] = (int32_t)(n * conv->features * s.pixels + i);
  if (conv->batch == 0) memset(dw, 0, conv->features * s.cells * sizeof(float));
  for (size_t n = 0; n < conv->batch; n += s.images)
    weight_block(conv, &s, x + n * conv->channels * window_in(&conv->window), dy + n * conv->features * s.pixels,
                 size_min(s.images, conv->batch - n), dw, n == 0);
}

const ConvVariant conv_plain_weights = {VARIANT_conv_plain_weights, any, NULL, weight_gradient_bytes, weight_gradient};
