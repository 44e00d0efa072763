/* Depthwise convolution and its gradients in general: planes padded once, then four neighbours at a time, four vectors
 * together. */
#include "kernels/depthwise.h"
#include <string.h>
#include "kernels/phase.h"
#include "kernels/scratch.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

enum {
  SLACK = 4,   /* floats behind a padded plane that a vector over its edge may read */
  PLANES = 16, /* planes in one task: neighbours in memory */
};

static bool suits(const Conv *conv) { return conv->channels == conv->groups && conv->features <= 4 * conv->channels; }

/* A kernel's cells that are in play and the places in the plane they are slid over. */
typedef struct Slide {
  size_t cells, vectors;
  size_t inside;   /* so many vectors end before the output plane does */
  int32_t *cell;   /* offset of each from a pixel's first */
  int32_t *vector; /* offset of the first pixel of each four neighbours of an output row; a row's last may hang over */
  int32_t *out;    /* their places in the output plane */
} Slide;

static size_t vectors_in(size_t rows, size_t columns) { return rows * ((columns + 3) / 4); }

static void slide_take(Slide *s, size_t cells, size_t rows, size_t columns, Scratch *scratch) {
  s->cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->vector = scratch_take(scratch, vectors_in(rows, columns) + 4, 1, sizeof(int32_t));
  s->out = scratch_take(scratch, vectors_in(rows, columns) + 4, 1, sizeof(int32_t));
}

/* Rows are `row_step` rows of the padded plane apart. The list ends with three copies of its last, so that four can be
 * read. */
static void slide_vectors(Slide *s, const Padded *p, size_t rows, size_t columns, size_t row_step) {
  s->vectors = 0;
  for (size_t y = 0; y < rows; y++)
    for (size_t x = 0; x < columns; x += 4) {
      s->vector[s->vectors] = (int32_t)(y * row_step * p->row_floats + x);
      s->out[s->vectors++] = (int32_t)(y * columns + x);
    }
  s->inside = s->vectors;
  while (s->inside && (size_t)s->out[s->inside - 1] + 4 > rows * columns) s->inside--;
  for (size_t i = s->vectors; i < s->vectors + 3 && s->vectors; i++) {
    s->vector[i] = s->vector[s->vectors - 1];
    s->out[i] = s->out[s->vectors - 1];
  }
}

/* The window's cells for planes in layout p. */
static void slide_cells(Slide *s, const Window *w, const Padded *p) {
  s->cells = 0;
  for (size_t i = 0; i < w->kernel[0]; i++)
    for (size_t j = 0; j < w->kernel[1]; j++)
      s->cell[s->cells++] = (int32_t)padded_at(p, i * w->dilation[0], j * w->dilation[1]);
}

/* Four neighbours where the plane may end before the fourth. */
static void store_inside(float *y, size_t pixels, size_t at, f32x4 v) {
  float four[4];
  f32x4_store(four, v);
  for (size_t i = 0; i < 4 && at + i < pixels; i++) y[at + i] = four[i];
}

/* y[pixel] = start + Σ weight[cell] · plane[pixel + cell], four vectors together. A vector over its row's end spills
 * into the next row, which comes later. */
static __attribute__((noinline)) void slide_run(const Slide *s, const float *weight, const float *plane, float start,
                                                const Conv *clamp, float *y, size_t pixels) {
  f32x4 low = f32x4_splat(clamp ? clamp->low : 0), high = f32x4_splat(clamp ? clamp->high : 0);
  for (size_t v = 0; v < s->vectors; v += 4) {
    const float *p0 = plane + s->vector[v], *p1 = plane + s->vector[v + 1];
    const float *p2 = plane + s->vector[v + 2], *p3 = plane + s->vector[v + 3];
    f32x4 sum[4];
    sum[0] = sum[1] = sum[2] = sum[3] = f32x4_splat(start);
    for (size_t c = 0; c < s->cells; c++) {
      f32x4 w = f32x4_splat(weight[c]);
      size_t at = (size_t)s->cell[c];
      sum[0] = f32x4_madd(w, f32x4_load(p0 + at), sum[0]);
      sum[1] = f32x4_madd(w, f32x4_load(p1 + at), sum[1]);
      sum[2] = f32x4_madd(w, f32x4_load(p2 + at), sum[2]);
      sum[3] = f32x4_madd(w, f32x4_load(p3 + at), sum[3]);
    }
    for (int i = 0; clamp && i < 4; i++) sum[i] = f32x4_min(high, f32x4_max(low, sum[i]));
    if (v + 4 <= s->inside)
      for (int i = 0; i < 4; i++) f32x4_store(y + s->out[v + i], sum[i]);
    else
      for (int i = 0; i < 4; i++) store_inside(y, pixels, (size_t)s->out[v + i], sum[i]);
  }
}

/* ---- forward ---- */

typedef struct Forward {
  const Conv *conv;
  const float *x, *w, *bias;
  float *y;
  Padded padded;
  Slide slide;
  float *plane; /* one for each thread */
  size_t plane_floats;
} Forward;

static bool forward_plan(const Conv *conv, Forward *f, Scratch *scratch) {
  const Window *w = &conv->window;
  f->conv = conv;
  if (!padded_of_window(w, &f->padded) || f->padded.plane_floats > INT32_MAX - SLACK) return false;
  f->padded.direct = false;
  f->plane_floats = f->padded.plane_floats + SLACK;
  f->plane = scratch_take(scratch, (size_t)threads_count(), f->plane_floats, sizeof(float));
  slide_take(&f->slide, window_kernel(w), w->out[0], w->out[1], scratch);
  return !scratch->overflow;
}

static bool forward_bytes(const Conv *conv, size_t *bytes) {
  Forward f;
  Scratch scratch = {0};
  bool fits = forward_plan(conv, &f, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* All outputs of some planes of x. */
static void forward_task(void *context, size_t chunk, int thread) {
  const Forward *f = context;
  const Conv *conv = f->conv;
  const Window *w = &conv->window;
  size_t pixels = window_out(w), each = conv->features / conv->channels,
         end = size_min(conv->batch * conv->channels, (chunk + 1) * PLANES);
  float *copy = f->plane + (size_t)thread * f->plane_floats;
  for (size_t plane = chunk * PLANES; plane < end; plane++) {
    padded_copy(&f->padded, f->x + plane * window_in(w), 1, copy);
    for (size_t i = plane * each; i < (plane + 1) * each; i++) {
      size_t feature = i % conv->features;
      slide_run(&f->slide, f->w + feature * window_kernel(w), copy, f->bias ? f->bias[feature] : 0,
                conv->clamp ? conv : NULL, f->y + i * pixels, pixels);
    }
  }
}

static void forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  const Window *window = &conv->window;
  Forward f;
  forward_plan(conv, &f, &(Scratch){.base = scratch});
  f.x = x, f.w = w, f.bias = bias, f.y = y;
  memset(f.plane, 0, (size_t)threads_count() * f.plane_floats * sizeof(float));
  slide_cells(&f.slide, window, &f.padded);
  slide_vectors(&f.slide, &f.padded, window->out[0], window->out[1], window->stride[0]);
  threads_run(ceil_div(conv->batch * conv->channels, PLANES), forward_task, &f);
}

const ConvVariant conv_depthwise = {VARIANT_conv_depthwise, suits, NULL, forward_bytes, forward};

/* ---- input gradient: the cells of a phase over the channel's dy planes, one behind the other ---- */

typedef struct Input {
  const Conv *conv;
  const float *dy, *w;
  float *dx;
  Phases phases;
  Slide slide;
  size_t phase[2];
  int32_t *w_cell;
  float *planes; /* one for each thread: the dy planes of one channel, */
  float *pixels; /* the planes of a phase if the stride is not 1, */
  float *weight; /* and the weights of its cells */
  size_t planes_floats, pixels_floats, cells;
} Input;

static bool input_plan(const Conv *conv, Input *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t each = conv->features / conv->channels, rows = phase_size(w, 0, 0), columns = phase_size(w, 1, 0),
         threads = (size_t)threads_count();
  s->conv = conv;
  if (!phases_of(w, &s->phases) || !size_multiply(each, s->phases.dy.plane_floats, &s->planes_floats) ||
      s->planes_floats > INT32_MAX - SLACK || !size_multiply(each, window_kernel(w), &s->cells))
    return false;
  s->phases.dy.direct = false;
  s->planes_floats += SLACK;
  s->pixels_floats = s->phases.strided ? rows * columns : 0;
  s->w_cell = scratch_take(scratch, s->cells, 1, sizeof(int32_t));
  s->planes = scratch_take(scratch, threads, s->planes_floats, sizeof(float));
  s->pixels = scratch_take(scratch, threads, s->pixels_floats, sizeof(float));
  s->weight = scratch_take(scratch, threads, s->cells, sizeof(float));
  slide_take(&s->slide, s->cells, rows, columns, scratch);
  return !scratch->overflow;
}

static bool input_bytes(const Conv *conv, size_t *bytes) {
  Input s;
  Scratch scratch = {0};
  bool fits = input_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* The cells of the phase: where dy and w have them. */
static void phase_cells(const Input *s, Slide *slide) {
  const Window *w = &s->conv->window;
  size_t each = s->conv->features / s->conv->channels, offset, at = 0;
  slide->cells = 0;
  for (size_t f = 0; f < each; f++)
    for (size_t i = 0; i < w->kernel[0]; i++)
      for (size_t j = 0; j < w->kernel[1]; j++, at++) {
        if (!phase_cell(&s->phases, s->phase, i, j, &offset)) continue;
        s->w_cell[slide->cells] = (int32_t)at;
        slide->cell[slide->cells++] = (int32_t)(f * s->phases.dy.plane_floats + offset);
      }
}

/* Some planes of dx. */
static void input_task(void *context, size_t chunk, int thread) {
  const Input *s = context;
  const Conv *conv = s->conv;
  const Window *w = &conv->window;
  size_t each = conv->features / conv->channels, pixels = phase_size(w, 0, s->phase[0]) * phase_size(w, 1, s->phase[1]);
  float *planes = s->planes + (size_t)thread * s->planes_floats, *weight = s->weight + (size_t)thread * s->cells;
  float *apart = s->pixels + (size_t)thread * s->pixels_floats;
  for (size_t i = chunk * PLANES; i < size_min(conv->batch * conv->channels, (chunk + 1) * PLANES); i++) {
    float *plane = s->dx + i * window_in(w);
    const float *from = s->w + i % conv->channels * each * window_kernel(w);
    for (size_t c = 0; c < s->slide.cells; c++) weight[c] = from[s->w_cell[c]];
    padded_copy(&s->phases.dy, s->dy + i * each * window_out(w), each, planes);
    slide_run(&s->slide, weight, planes, 0, NULL, s->phases.strided ? apart : plane, pixels);
    if (s->phases.strided) phase_spread(w, s->phase, apart, plane);
  }
}

static void input_gradient(const Conv *conv, const float *dy, const float *w, const float *bias, float *dx,
                           void *scratch) {
  const Window *window = &conv->window;
  Input s;
  input_plan(conv, &s, &(Scratch){.base = scratch});
  s.dy = dy, s.w = w, s.dx = dx;
  memset(s.planes, 0, (size_t)threads_count() * s.planes_floats * sizeof(float));
  for (s.phase[0] = 0; s.phase[0] < window->stride[0]; s.phase[0]++)
    for (s.phase[1] = 0; s.phase[1] < window->stride[1]; s.phase[1]++) {
      slide_vectors(&s.slide, &s.phases.dy, phase_size(window, 0, s.phase[0]), phase_size(window, 1, s.phase[1]), 1);
      phase_cells(&s, &s.slide);
      threads_run(ceil_div(conv->batch * conv->channels, PLANES), input_task, &s);
    }
}

/* However many outputs: the product has one row. */
static bool suits_input(const Conv *conv) { return conv->channels == conv->groups; }

const ConvVariant conv_depthwise_input = {VARIANT_conv_depthwise_input, suits_input, NULL, input_bytes, input_gradient};

/* ---- weight gradient ---- */

typedef struct Weight {
  Forward forward;
  const float *dy;
  float *dw;
  float *rows; /* one for each thread: a plane of dy, each row filled up with zeros to whole vectors, */
  float *sums; /* and, for some features, four lanes for every cell */
  size_t rows_floats, cell_floats;
} Weight;

static bool weight_plan(const Conv *conv, Weight *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t threads = (size_t)threads_count();
  if (!forward_plan(conv, &s->forward, scratch)) return false;
  s->rows_floats = vectors_in(w->out[0], w->out[1]) * 4;
  s->cell_floats = (window_kernel(w) + 2) * 4; /* whole threes */
  s->rows = scratch_take(scratch, threads, s->rows_floats, sizeof(float));
  s->sums = scratch_take(scratch, threads * PLANES, s->cell_floats, sizeof(float));
  return !scratch->overflow;
}

static bool weight_bytes(const Conv *conv, size_t *bytes) {
  Weight s;
  Scratch scratch = {0};
  bool fits = weight_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

static void copy_rows(const Window *w, const float *dy, float *rows) {
  size_t width = (w->out[1] + 3) / 4 * 4;
  for (size_t y = 0; y < w->out[0]; y++, rows += width)
    for (size_t x = 0; x < w->out[1]; x++) rows[x] = *dy++;
}

/* sums[cell] += dy[pixel] · plane[pixel + cell], three cells at a time; the last ones are repeated into unused sums */
static void weight_plane(const Slide *s, const float *plane, const float *rows, float *sums) {
  for (size_t c = 0; c < s->cells; c += 3) {
    const float *p0 = plane + s->cell[c], *p1 = plane + s->cell[c + 1 < s->cells ? c + 1 : c];
    const float *p2 = plane + s->cell[c + 2 < s->cells ? c + 2 : c], *dy = rows;
    f32x4 s0 = f32x4_load(sums + 4 * c), s1 = f32x4_load(sums + 4 * c + 4), s2 = f32x4_load(sums + 4 * c + 8);
    for (size_t v = 0; v < s->vectors; v++, dy += 4) {
      f32x4 d = f32x4_load(dy);
      size_t at = (size_t)s->vector[v];
      s0 = f32x4_madd(d, f32x4_load(p0 + at), s0);
      s1 = f32x4_madd(d, f32x4_load(p1 + at), s1);
      s2 = f32x4_madd(d, f32x4_load(p2 + at), s2);
    }
    f32x4_store(sums + 4 * c, s0);
    f32x4_store(sums + 4 * c + 4, s1);
    f32x4_store(sums + 4 * c + 8, s2);
  }
}

/* dw[f, cell] = Σ over images of dy[n, f, pixel] · x[n, c, pixel + cell], of some features */
static void weight_task(void *context, size_t chunk, int thread) {
  const Weight *s = context;
  const Forward *f = &s->forward;
  const Conv *conv = f->conv;
  const Window *w = &conv->window;
  size_t each = conv->features / conv->channels, first = chunk * PLANES,
         count = size_min(PLANES, conv->features - first);
  float *plane = f->plane + (size_t)thread * f->plane_floats, *rows = s->rows + (size_t)thread * s->rows_floats;
  float *sums = s->sums + (size_t)thread * PLANES * s->cell_floats;
  memset(sums, 0, count * s->cell_floats * sizeof(float));
  for (size_t n = 0; n < conv->batch; n++)
    for (size_t i = first; i < first + count; i++) {
      padded_copy(&f->padded, f->x + (n * conv->channels + i / each) * window_in(w), 1, plane);
      copy_rows(w, s->dy + (n * conv->features + i) * window_out(w), rows);
      weight_plane(&f->slide, plane, rows, sums + (i - first) * s->cell_floats);
    }
  for (size_t i = 0; i < count; i++)
    for (size_t c = 0; c < f->slide.cells; c++)
      s->dw[(first + i) * f->slide.cells + c] = f32x4_sum(f32x4_load(sums + i * s->cell_floats + 4 * c));
}

static void weight_gradient(const Conv *conv, const float *x, const float *dy, const float *bias, float *dw,
                            void *scratch) {
  const Window *w = &conv->window;
  size_t threads = (size_t)threads_count();
  Weight s;
  weight_plan(conv, &s, &(Scratch){.base = scratch});
  s.forward.x = x, s.dy = dy, s.dw = dw;
  memset(s.forward.plane, 0, threads * s.forward.plane_floats * sizeof(float));
  memset(s.rows, 0, threads * s.rows_floats * sizeof(float));
  slide_cells(&s.forward.slide, w, &s.forward.padded);
  slide_vectors(&s.forward.slide, &s.forward.padded, w->out[0], w->out[1], w->stride[0]);
  threads_run(ceil_div(conv->features, PLANES), weight_task, &s);
}

const ConvVariant conv_depthwise_weights = {VARIANT_conv_depthwise_weights, suits, NULL, weight_bytes, weight_gradient};
