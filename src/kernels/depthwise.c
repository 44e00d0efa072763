/* Depthwise convolution and its gradients: planes padded once, then four neighbours at a time, four vectors together. */
#include "kernels/depthwise.h"
#include <string.h>
#include "kernels/phase.h"
#include "kernels/scratch.h"
#include "simd.h"

enum { SLACK = 4 }; /* floats behind a padded plane that a vector over its edge may read */

/* A kernel's cells that are in play and the places in the plane they are slid over. */
typedef struct Slide {
  size_t cells, vectors;
  size_t inside;   /* so many vectors end before the output plane does */
  int32_t *cell;   /* offset of each from a pixel's first */
  float *weight;   /* of each */
  int32_t *vector; /* offset of the first pixel of each four neighbours of an output row; a row's last may hang over */
  int32_t *out;    /* where they go in the output plane */
} Slide;

static size_t vectors_in(size_t rows, size_t columns) { return rows * ((columns + 3) / 4); }

static void slide_take(Slide *s, size_t cells, size_t rows, size_t columns, Scratch *scratch) {
  s->cell = scratch_take(scratch, cells, 1, sizeof(int32_t));
  s->weight = scratch_take(scratch, cells, 1, sizeof(float));
  s->vector = scratch_take(scratch, vectors_in(rows, columns) + 4, 1, sizeof(int32_t));
  s->out = scratch_take(scratch, vectors_in(rows, columns) + 4, 1, sizeof(int32_t));
}

/* Rows are `row_step` rows of the padded plane apart. The list ends with three copies of its last, so that four can be read. */
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
    for (size_t j = 0; j < w->kernel[1]; j++) s->cell[s->cells++] = (int32_t)padded_at(p, i * w->dilation[0], j * w->dilation[1]);
}

/* Four neighbours where the plane may end before the fourth. */
static void store_inside(float *y, size_t pixels, size_t at, f32x4 v) {
  float four[4];
  f32x4_store(four, v);
  for (size_t i = 0; i < 4 && at + i < pixels; i++) y[at + i] = four[i];
}

/* y[pixel] = start + Σ weight[cell] · plane[pixel + cell], four vectors together. A vector over its row's end spills into the next
 * row, which comes later; one over the plane's end too, if `spill` says that another plane follows that comes later. */
static __attribute__((noinline)) void slide_run(const Slide *s, const float *weight, const float *plane, float start, float *y,
                                                size_t pixels, bool spill) {
  bool all = spill && pixels >= 4;
  for (size_t v = 0; v < s->vectors; v += 4) {
    const float *p0 = plane + s->vector[v], *p1 = plane + s->vector[v + 1];
    const float *p2 = plane + s->vector[v + 2], *p3 = plane + s->vector[v + 3];
    f32x4 sum[4];
    sum[0] = sum[1] = sum[2] = sum[3] = f32x4_splat(start);
    for (size_t c = 0; c < s->cells; c++) {
      f32x4 w = f32x4_splat(weight[c]);
      size_t at = (size_t)s->cell[c];
      sum[0] += w * f32x4_load(p0 + at);
      sum[1] += w * f32x4_load(p1 + at);
      sum[2] += w * f32x4_load(p2 + at);
      sum[3] += w * f32x4_load(p3 + at);
    }
    if (all || v + 4 <= s->inside)
      for (int i = 0; i < 4; i++) f32x4_store(y + s->out[v + i], sum[i]);
    else
      for (int i = 0; i < 4; i++) store_inside(y, pixels, (size_t)s->out[v + i], sum[i]);
  }
}

/* ---- forward ---- */

typedef struct Forward {
  Padded padded;
  Slide slide;
  float *plane;
} Forward;

static bool forward_plan(const Conv *conv, Forward *f, Scratch *scratch) {
  const Window *w = &conv->window;
  if (!padded_of_window(w, &f->padded) || f->padded.plane_floats > INT32_MAX - SLACK) return false;
  f->padded.direct = false;
  f->plane = scratch_take(scratch, f->padded.plane_floats + SLACK, 1, sizeof(float));
  slide_take(&f->slide, window_kernel(w), w->out[0], w->out[1], scratch);
  return !scratch->overflow;
}

bool depthwise_forward_bytes(const Conv *conv, size_t *bytes) {
  Forward f;
  Scratch scratch = {0};
  bool fits = forward_plan(conv, &f, &scratch);
  *bytes = scratch.used;
  return fits;
}

void depthwise_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  const Window *window = &conv->window;
  size_t cells = window_kernel(window), pixels = window_out(window), each = conv->features / conv->channels;
  Forward f;
  forward_plan(conv, &f, &(Scratch){.base = scratch});
  memset(f.plane, 0, (f.padded.plane_floats + SLACK) * sizeof(float));
  slide_cells(&f.slide, window, &f.padded);
  slide_vectors(&f.slide, &f.padded, window->out[0], window->out[1], window->stride[0]);
  for (size_t n = 0; n < conv->batch; n++)
    for (size_t c = 0; c < conv->channels; c++, x += window_in(window)) {
      padded_copy(&f.padded, x, 1, f.plane);
      for (size_t i = c * each; i < (c + 1) * each; i++, y += pixels)
        slide_run(&f.slide, w + i * cells, f.plane, bias ? bias[i] : 0, y, pixels, n + 1 < conv->batch || i + 1 < conv->features);
    }
}

/* ---- input gradient: the cells of a phase over the channel's dy planes, one behind the other ---- */

typedef struct Input {
  Phases phases;
  Slide slide;
  float *planes; /* the dy planes of one channel */
  float *pixels; /* of a phase; where the stride is not 1 */
} Input;

static bool input_plan(const Conv *conv, Input *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t each = conv->features / conv->channels, rows = phase_size(w, 0, 0), columns = phase_size(w, 1, 0), floats, cells;
  if (!phases_of(w, &s->phases) || !size_multiply(each, s->phases.dy.plane_floats, &floats) || floats > INT32_MAX - SLACK ||
      !size_multiply(each, window_kernel(w), &cells))
    return false;
  s->phases.dy.direct = false;
  s->planes = scratch_take(scratch, floats + SLACK, 1, sizeof(float));
  s->pixels = scratch_take(scratch, s->phases.strided ? rows * columns + SLACK : 0, 1, sizeof(float));
  slide_take(&s->slide, cells, rows, columns, scratch);
  return !scratch->overflow;
}

bool depthwise_input_gradient_bytes(const Conv *conv, size_t *bytes) {
  Input s;
  Scratch scratch = {0};
  bool fits = input_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* The phase's cells of channel c's kernels. */
static void phase_cells(const Conv *conv, Input *s, const size_t phase[2], const float *w) {
  const Window *window = &conv->window;
  Slide *slide = &s->slide;
  size_t offset;
  slide->cells = 0;
  for (size_t f = 0; f < conv->features / conv->channels; f++)
    for (size_t i = 0; i < window->kernel[0]; i++)
      for (size_t j = 0; j < window->kernel[1]; j++, w++) {
        if (!phase_cell(&s->phases, phase, i, j, &offset)) continue;
        slide->cell[slide->cells] = (int32_t)(f * s->phases.dy.plane_floats + offset);
        slide->weight[slide->cells++] = *w;
      }
}

/* `spill`: the same image's next channel comes later. */
static void input_channel(const Conv *conv, Input *s, const size_t phase[2], const float *dy, const float *w, float *dx, bool spill) {
  const Window *window = &conv->window;
  size_t each = conv->features / conv->channels, pixels = phase_size(window, 0, phase[0]) * phase_size(window, 1, phase[1]);
  phase_cells(conv, s, phase, w);
  for (size_t n = 0; n < conv->batch; n++) {
    float *plane = dx + n * conv->channels * window_in(window);
    padded_copy(&s->phases.dy, dy + n * conv->features * window_out(window), each, s->planes);
    float *to = s->phases.strided ? s->pixels : plane;
    slide_run(&s->slide, s->slide.weight, s->planes, 0, to, pixels, spill || s->phases.strided);
    if (s->phases.strided) phase_spread(window, phase, s->pixels, plane);
  }
}

void depthwise_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch) {
  const Window *window = &conv->window;
  size_t each = conv->features / conv->channels, phase[2];
  Input s;
  input_plan(conv, &s, &(Scratch){.base = scratch});
  memset(s.planes, 0, (each * s.phases.dy.plane_floats + SLACK) * sizeof(float));
  for (phase[0] = 0; phase[0] < window->stride[0]; phase[0]++)
    for (phase[1] = 0; phase[1] < window->stride[1]; phase[1]++) {
      slide_vectors(&s.slide, &s.phases.dy, phase_size(window, 0, phase[0]), phase_size(window, 1, phase[1]), 1);
      for (size_t c = 0; c < conv->channels; c++)
        input_channel(conv, &s, phase, dy + c * each * window_out(window), w + c * each * window_kernel(window),
                      dx + c * window_in(window), c + 1 < conv->channels);
    }
}

/* ---- weight gradient ---- */

typedef struct Weight {
  Forward forward;
  float *rows; /* a plane of dy, each row filled up with zeros to whole vectors */
  float *sums; /* four lanes for every cell */
} Weight;

static bool weight_plan(const Conv *conv, Weight *s, Scratch *scratch) {
  const Window *w = &conv->window;
  if (!forward_plan(conv, &s->forward, scratch)) return false;
  s->rows = scratch_take(scratch, vectors_in(w->out[0], w->out[1]), 4, sizeof(float));
  s->sums = scratch_take(scratch, window_kernel(w) + 3, 4, sizeof(float));
  return !scratch->overflow;
}

bool depthwise_weight_gradient_bytes(const Conv *conv, size_t *bytes) {
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
      s0 += d * f32x4_load(p0 + at);
      s1 += d * f32x4_load(p1 + at);
      s2 += d * f32x4_load(p2 + at);
    }
    f32x4_store(sums + 4 * c, s0);
    f32x4_store(sums + 4 * c + 4, s1);
    f32x4_store(sums + 4 * c + 8, s2);
  }
}

/* dw[f, cell] = Σ over images of dy[n, f, pixel] · x[n, c, pixel + cell] */
static void weight_feature(const Conv *conv, const Weight *s, const float *x, const float *dy, float *dw) {
  const Window *w = &conv->window;
  const Forward *f = &s->forward;
  memset(s->sums, 0, (f->slide.cells + 3) * 4 * sizeof(float));
  for (size_t n = 0; n < conv->batch; n++) {
    padded_copy(&f->padded, x + n * conv->channels * window_in(w), 1, f->plane);
    copy_rows(w, dy + n * conv->features * window_out(w), s->rows);
    weight_plane(&f->slide, f->plane, s->rows, s->sums);
  }
  for (size_t c = 0; c < f->slide.cells; c++) dw[c] = f32x4_sum(f32x4_load(s->sums + 4 * c));
}

void depthwise_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch) {
  const Window *w = &conv->window;
  size_t each = conv->features / conv->channels;
  Weight s;
  weight_plan(conv, &s, &(Scratch){.base = scratch});
  memset(s.forward.plane, 0, (s.forward.padded.plane_floats + SLACK) * sizeof(float));
  memset(s.rows, 0, vectors_in(w->out[0], w->out[1]) * 4 * sizeof(float));
  slide_cells(&s.forward.slide, w, &s.forward.padded);
  slide_vectors(&s.forward.slide, &s.forward.padded, w->out[0], w->out[1], w->stride[0]);
  for (size_t f = 0; f < conv->features; f++)
    weight_feature(conv, &s, x + f / each * window_in(w), dy + f * window_out(w), dw + f * window_kernel(w));
}
