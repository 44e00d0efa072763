/* Depthwise convolution and its gradients: four planes together, one a lane, so that rows of any length fill the vectors. */
#include "kernels/depthwise.h"
#include <string.h>
#include "kernels/scratch.h"
#include "simd.h"
#include "threads.h"

enum { LANES = 4 };

static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* ---- rows of four planes, pixel by pixel: (columns, LANES) ---- */

typedef const float *Planes[LANES];

static inline void turn(f32x4 v[4]) {
  f32x4 a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  f32x4 c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7), d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* Four columns at a time; the last four may overlap those before. */
static void interleave(const Planes plane, size_t at, size_t columns, float *row) {
  const float *a = plane[0] + at, *b = plane[1] + at, *c = plane[2] + at, *d = plane[3] + at;
  if (columns < 4) {
    for (size_t x = 0; x < columns; x++) f32x4_store(row + x * LANES, (f32x4){a[x], b[x], c[x], d[x]});
    return;
  }
  for (size_t x = 0; x < columns; x += 4) {
    size_t from = least(x, columns - 4);
    f32x4 v[4] = {f32x4_load(a + from), f32x4_load(b + from), f32x4_load(c + from), f32x4_load(d + from)};
    turn(v);
    for (size_t i = 0; i < 4; i++) f32x4_store(row + (from + i) * LANES, v[i]);
  }
}

static void separate(const float *row, size_t columns, float *const plane[LANES], size_t at) {
  float *a = plane[0] + at, *b = plane[1] + at, *c = plane[2] + at, *d = plane[3] + at;
  if (columns < 4) {
    for (size_t x = 0; x < columns; x++, row += LANES) a[x] = row[0], b[x] = row[1], c[x] = row[2], d[x] = row[3];
    return;
  }
  for (size_t x = 0; x < columns; x += 4) {
    size_t from = least(x, columns - 4);
    f32x4 v[4];
    for (size_t i = 0; i < 4; i++) v[i] = f32x4_load(row + (from + i) * LANES);
    turn(v);
    f32x4_store(a + from, v[0]);
    f32x4_store(b + from, v[1]);
    f32x4_store(c + from, v[2]);
    f32x4_store(d + from, v[3]);
  }
}

/* The rows in play of `planes` times four planes, row r at r % rows; columns outside the planes are zeros. */
typedef struct Ring {
  size_t rows, planes, row_floats;
  size_t left; /* columns before the first */
  size_t next; /* the first row not read yet */
  float *data;
} Ring;

static inline float *ring_row(const Ring *r, size_t row, size_t plane) {
  return r->data + (row % r->rows * r->planes + plane) * r->row_floats;
}

static void ring_read(Ring *r, const Planes *plane, size_t columns, size_t to) {
  for (; r->next < to; r->next++)
    for (size_t i = 0; i < r->planes; i++) interleave(plane[i], r->next * columns, columns, ring_row(r, r->next, i) + r->left * LANES);
}

/* ---- what meets what ---- */

/* Forward a pixel of y gathers from x; backward (`turned`) a pixel of x gathers from dy. */
typedef struct Slide {
  const Window *window;
  bool turned;
  const size_t *in, *out; /* planes read and written */
} Slide;

static Slide slide_of(const Window *w, bool turned) {
  return (Slide){w, turned, turned ? w->out : w->in, turned ? w->in : w->out};
}

/* Where kernel row (or column) i meets output row `at`: false when nowhere. It may be outside the plane. */
static inline bool slide_meets(const Slide *s, int a, size_t at, size_t i, ptrdiff_t *in) {
  const Window *w = s->window;
  ptrdiff_t reach = (ptrdiff_t)(i * w->dilation[a]), pad = (ptrdiff_t)w->pad[a], stride = (ptrdiff_t)w->stride[a];
  if (!s->turned) {
    *in = (ptrdiff_t)at * stride + reach - pad;
    return true;
  }
  ptrdiff_t along = (ptrdiff_t)at + pad - reach;
  *in = along / stride;
  return along % stride == 0;
}

/* Columns of zeros before the first column and behind the last that sliding over a row can read. */
static void slide_margins(const Slide *s, size_t *left, size_t *columns) {
  const Window *w = s->window;
  size_t reach = (w->kernel[1] - 1) * w->dilation[1];
  *left = s->turned ? (reach > w->pad[1] ? (reach - w->pad[1]) / w->stride[1] + 1 : 0) : w->pad[1];
  size_t end = s->turned ? (s->out[1] - 1 + w->pad[1]) / w->stride[1] + 1
                         : (w->out[1] - 1) * w->stride[1] + reach + 1 > w->pad[1] ? (w->out[1] - 1) * w->stride[1] + reach + 1 - w->pad[1] : 0;
  *columns = *left + most(end, s->in[1]);
}

/* Rows that one output row can read, `span` of them from the first to the last. */
static size_t slide_span(const Slide *s) {
  const Window *w = s->window;
  size_t reach = (w->kernel[0] - 1) * w->dilation[0];
  return least(s->in[0], (s->turned ? reach / w->stride[0] : reach) + 1);
}

static bool ring_plan(const Slide *s, size_t planes, Ring *r, size_t *floats) {
  size_t columns;
  *r = (Ring){.rows = slide_span(s), .planes = planes};
  slide_margins(s, &r->left, &columns);
  return size_multiply(columns, LANES, &r->row_floats) && size_multiply(r->row_floats, r->rows, floats) &&
         size_multiply(*floats, planes, floats) && *floats <= INT32_MAX;
}

/* ---- sliding: forward, and the gradient of the input ---- */

/* A column of the kernel: offsets in floats into a row and into a row of weights. */
typedef struct Cell {
  int32_t x, w;
} Cell;

/* A row that a row of the kernel meets. */
typedef struct Line {
  const float *x, *w;
} Line;

/* Columns first, first + step … of an output row: all meet the same cells. */
typedef struct Phase {
  size_t first, count, cells;
  const Cell *cell;
} Phase;

typedef struct Row {
  const Phase *phase;
  const Line *line;
  size_t lines;
  size_t in_step, out_step; /* floats from pixel to pixel */
  f32x4 start, low, high;
  bool clamp;
  float *out;
} Row;

/* out[pixel] = start + Σ w[line, cell] · x[line, pixel + cell] for n pixels; cells = 3 stands for three that adjoin. */
static inline __attribute__((always_inline)) void tile_of(const int n, const size_t cells, const size_t in_step, const Row *r, size_t pixel) {
  f32x4 sum[4] = {r->start, r->start, r->start, r->start};
  const Cell *cell = r->phase->cell;
  size_t count = cells ? cells : r->phase->cells, step = in_step ? in_step : r->in_step;
  for (size_t i = 0; i < r->lines; i++) {
    const float *x = r->line[i].x + pixel * step, *w = r->line[i].w;
    if (cells) x += cell->x, w += cell->w;
    for (size_t c = 0; c < count; c++) {
      const float *at = x + (cells ? c * LANES : (size_t)(ptrdiff_t)cell[c].x);
      f32x4 weight = f32x4_load(w + (cells ? c * LANES : (size_t)cell[c].w));
      for (size_t l = 0; l < (size_t)n; l++) sum[l] += weight * f32x4_load(at + l * step);
    }
  }
  float *out = r->out + (r->phase->first * LANES + pixel * r->out_step);
  for (size_t l = 0; l < (size_t)n; l++)
    f32x4_store(out + l * r->out_step, r->clamp ? f32x4_min(r->high, f32x4_max(r->low, sum[l])) : sum[l]);
}

static inline __attribute__((always_inline)) void row_of(const size_t cells, const size_t in_step, const Row *r) {
  size_t pixel = 0, count = r->phase->count;
  for (; pixel + 4 <= count; pixel += 4) tile_of(4, cells, in_step, r, pixel);
  switch (count - pixel) {
    case 3: tile_of(3, cells, in_step, r, pixel); break;
    case 2: tile_of(2, cells, in_step, r, pixel); break;
    case 1: tile_of(1, cells, in_step, r, pixel); break;
  }
}

static bool adjoin(const Phase *p) {
  for (size_t c = 1; c < p->cells; c++)
    if (p->cell[c].x != p->cell[0].x + (int32_t)(c * LANES) || p->cell[c].w != p->cell[0].w + (int32_t)(c * LANES)) return false;
  return true;
}

static void row_run(const Row *r) {
  bool three = r->phase->cells == 3 && adjoin(r->phase);
  if (three && r->in_step == LANES) row_of(3, LANES, r);
  else if (three && r->in_step == 2 * LANES) row_of(3, 2 * LANES, r);
  else row_of(0, 0, r);
}

typedef struct Sliding {
  const Conv *conv;
  Slide slide;
  const float *x, *w, *bias;
  float *y;
  size_t planes_in, planes_out; /* of an image */
  size_t spread;                /* forward: planes written of each that is read */
  size_t each;                  /* backward: planes read for each that is written */
  size_t phases;
  Phase *phase;
  Cell *cell;
  Ring ring;
  float *data, *weight, *row; /* of each thread */
  Line *line;                 /* of each thread */
  Planes *plane;              /* of each thread */
  size_t ring_floats, weight_floats, row_floats, lines;
} Sliding;

static bool sliding_plan(const Conv *conv, bool turned, Sliding *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t threads = (size_t)threads_count(), many = conv->features / conv->channels;
  *s = (Sliding){.conv = conv, .slide = slide_of(w, turned), .spread = 1, .each = 1, .phases = 1};
  s->planes_in = turned ? conv->features : conv->channels;
  s->planes_out = turned ? conv->channels : conv->features;
  *(turned ? &s->each : &s->spread) = many;
  if (turned) s->phases = w->stride[1];
  if (!ring_plan(&s->slide, s->each, &s->ring, &s->ring_floats) || !size_multiply(s->each, window_kernel(w), &s->weight_floats) ||
      !size_multiply(s->weight_floats, LANES, &s->weight_floats) || !size_multiply(s->slide.out[1], LANES, &s->row_floats) ||
      !size_multiply(s->each, w->kernel[0], &s->lines))
    return false;
  s->phase = scratch_take(scratch, s->phases, 1, sizeof(Phase));
  s->cell = scratch_take(scratch, s->phases, w->kernel[1], sizeof(Cell));
  s->data = scratch_take(scratch, threads, s->ring_floats, sizeof(float));
  s->weight = scratch_take(scratch, threads, s->weight_floats, sizeof(float));
  s->row = scratch_take(scratch, threads, s->row_floats, sizeof(float));
  s->line = scratch_take(scratch, threads, s->lines, sizeof(Line));
  s->plane = scratch_take(scratch, threads, s->each, sizeof(Planes));
  return !scratch->overflow;
}

/* Backward the kernel's columns are met from the last to the first: so are they stored. */
static void sliding_phases(Sliding *s) {
  const Window *w = s->slide.window;
  Cell *cell = s->cell;
  size_t columns = s->slide.out[1];
  for (size_t p = 0; p < s->phases; p++) {
    Phase *phase = s->phase + p;
    *phase = (Phase){.first = p, .count = columns > p ? (columns - p - 1) / s->phases + 1 : 0, .cell = cell};
    for (size_t c = 0; c < w->kernel[1]; c++) {
      ptrdiff_t in;
      if (!slide_meets(&s->slide, 1, p, s->slide.turned ? w->kernel[1] - 1 - c : c, &in)) continue;
      *cell++ = (Cell){.x = (int32_t)((in + (ptrdiff_t)s->ring.left) * LANES), .w = (int32_t)(c * LANES)};
      phase->cells++;
    }
  }
}

/* (each, KH, KW, LANES) */
static void sliding_weights(const Sliding *s, size_t plane, float *weight) {
  const Window *w = s->slide.window;
  size_t columns = w->kernel[1], kernel = window_kernel(w);
  for (size_t l = 0; l < LANES; l++) {
    const float *from = s->w + least(plane + l, s->planes_out - 1) * s->each * kernel;
    for (size_t i = 0; i < s->each * kernel; i++) {
      size_t to = s->slide.turned ? i - i % columns + (columns - 1 - i % columns) : i;
      weight[to * LANES + l] = from[i];
    }
  }
}

/* The rows that output row y meets, read into the ring if they are new; ascending, so that none is overwritten. */
static size_t sliding_lines(const Sliding *s, const Planes *plane, Ring *ring, const float *weight, size_t y, Line *line) {
  size_t count = 0, rows = s->slide.window->kernel[0], weight_row = s->slide.window->kernel[1] * LANES;
  for (size_t c = 0; c < rows; c++) {
    size_t i = s->slide.turned ? rows - 1 - c : c;
    ptrdiff_t in;
    if (!slide_meets(&s->slide, 0, y, i, &in) || in < 0 || (size_t)in >= s->slide.in[0]) continue;
    ring_read(ring, plane, s->slide.in[1], (size_t)in + 1);
    for (size_t e = 0; e < s->each; e++) line[count++] = (Line){ring_row(ring, (size_t)in, e), weight + (e * rows + i) * weight_row};
  }
  return count;
}

/* Four planes of y in all images. */
static void sliding_task(void *context, size_t four, int thread) {
  const Sliding *s = context;
  const Conv *conv = s->conv;
  size_t in = s->slide.in[0] * s->slide.in[1], out = s->slide.out[0] * s->slide.out[1], first = four * LANES;
  Ring ring = s->ring;
  ring.data = s->data + (size_t)thread * s->ring_floats;
  memset(ring.data, 0, s->ring_floats * sizeof(float));
  float *weight = s->weight + (size_t)thread * s->weight_floats, *to[LANES];
  sliding_weights(s, first, weight);
  Line *line = s->line + (size_t)thread * s->lines;
  Planes *plane = s->plane + (size_t)thread * s->each;
  Row row = {.line = line, .in_step = (s->slide.turned ? 1 : s->slide.window->stride[1]) * LANES, .out_step = s->phases * LANES,
             .low = f32x4_splat(conv->low), .high = f32x4_splat(conv->high), .clamp = conv->clamp && !s->slide.turned};
  row.start = f32x4_splat(0);
  row.out = s->row + (size_t)thread * s->row_floats;
  for (size_t n = 0; n < conv->batch; n++) {
    for (size_t l = 0; l < LANES; l++) { /* lanes over the last plane repeat it */
      size_t p = least(first + l, s->planes_out - 1);
      to[l] = s->y + (n * s->planes_out + p) * out;
      if (s->bias) row.start[l] = s->bias[p];
      for (size_t e = 0; e < s->each; e++) plane[e][l] = s->x + (n * s->planes_in + p / s->spread * s->each + e) * in;
    }
    ring.next = 0;
    for (size_t y = 0; y < s->slide.out[0]; y++) {
      row.lines = sliding_lines(s, plane, &ring, weight, y, line);
      for (size_t p = 0; p < s->phases; p++) {
        row.phase = s->phase + p;
        row_run(&row);
      }
      separate(row.out, s->slide.out[1], to, y * s->slide.out[1]);
    }
  }
}

static void sliding_run(Sliding *s, const float *x, const float *w, const float *bias, float *y) {
  s->x = x, s->w = w, s->bias = bias, s->y = y;
  sliding_phases(s);
  threads_run((s->planes_out + LANES - 1) / LANES, sliding_task, s);
}

static bool sliding_bytes(const Conv *conv, bool turned, size_t *bytes) {
  Sliding s;
  Scratch scratch = {0};
  bool fits = sliding_plan(conv, turned, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

bool depthwise_forward_bytes(const Conv *conv, size_t *bytes) { return sliding_bytes(conv, false, bytes); }
bool depthwise_input_gradient_bytes(const Conv *conv, size_t *bytes) { return sliding_bytes(conv, true, bytes); }

void depthwise_forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  Sliding s;
  sliding_plan(conv, false, &s, &(Scratch){.base = scratch});
  sliding_run(&s, x, w, bias, y);
}

void depthwise_input_gradient(const Conv *conv, const float *dy, const float *w, float *dx, void *scratch) {
  Sliding s;
  sliding_plan(conv, true, &s, &(Scratch){.base = scratch});
  sliding_run(&s, dy, w, NULL, dx);
}

/* ---- weight gradient ---- */

typedef struct Weight {
  const Conv *conv;
  Slide slide;
  const float *x, *dy;
  float *dw;
  Ring ring;
  float *data, *row, *sum; /* of each thread; row: of dy, sum: (KH, KW, LANES) */
  size_t ring_floats, row_floats, sum_floats;
} Weight;

static bool weight_plan(const Conv *conv, Weight *s, Scratch *scratch) {
  const Window *w = &conv->window;
  size_t threads = (size_t)threads_count();
  *s = (Weight){.conv = conv, .slide = slide_of(w, false)};
  if (!ring_plan(&s->slide, 1, &s->ring, &s->ring_floats) || !size_multiply(w->out[1], LANES, &s->row_floats) ||
      !size_multiply(window_kernel(w), LANES, &s->sum_floats))
    return false;
  s->data = scratch_take(scratch, threads, s->ring_floats, sizeof(float));
  s->row = scratch_take(scratch, threads, s->row_floats, sizeof(float));
  s->sum = scratch_take(scratch, threads, s->sum_floats, sizeof(float));
  return !scratch->overflow;
}

bool depthwise_weight_gradient_bytes(const Conv *conv, size_t *bytes) {
  Weight s;
  Scratch scratch = {0};
  bool fits = weight_plan(conv, &s, &scratch);
  *bytes = scratch.used;
  return fits;
}

/* sum[cell] += Σ dy[pixel] · x[pixel · step + cell · reach] over a row; cells beyond the first where they are constant */
static inline __attribute__((always_inline)) void weights_of(const size_t cells, const size_t step, size_t reach, const float *x, const float *dy,
                                                             size_t pixels, float *sum) {
  f32x4 total[3];
  for (size_t c = 0; c < cells; c++) total[c] = f32x4_load(sum + c * LANES);
  size_t p = 0;
  for (; p + 4 <= pixels; p += 4, x += 4 * step, dy += 4 * LANES) {
    f32x4 d0 = f32x4_load(dy), d1 = f32x4_load(dy + 4), d2 = f32x4_load(dy + 8), d3 = f32x4_load(dy + 12);
    for (size_t c = 0; c < cells; c++) {
      const float *at = x + c * reach;
      total[c] += (d0 * f32x4_load(at) + d1 * f32x4_load(at + step)) + (d2 * f32x4_load(at + 2 * step) + d3 * f32x4_load(at + 3 * step));
    }
  }
  for (; p < pixels; p++, x += step, dy += LANES)
    for (size_t c = 0; c < cells; c++) total[c] += f32x4_load(dy) * f32x4_load(x + c * reach);
  for (size_t c = 0; c < cells; c++) f32x4_store(sum + c * LANES, total[c]);
}

/* One row of dy against one row of x: all columns of the kernel, from `x` on. */
static void weight_row(const Window *w, const float *x, const float *dy, float *sum) {
  size_t c = 0, columns = w->kernel[1], step = w->stride[1] * LANES, reach = w->dilation[1] * LANES, pixels = w->out[1];
  for (; c + 3 <= columns; c += 3, x += 3 * reach, sum += 3 * LANES) {
    if (step == LANES && reach == LANES) weights_of(3, LANES, LANES, x, dy, pixels, sum);
    else if (step == 2 * LANES && reach == LANES) weights_of(3, 2 * LANES, LANES, x, dy, pixels, sum);
    else weights_of(3, step, reach, x, dy, pixels, sum);
  }
  for (; c < columns; c++, x += reach, sum += LANES) weights_of(1, step, reach, x, dy, pixels, sum);
}

/* dw of four features */
static void weight_task(void *context, size_t four, int thread) {
  const Weight *s = context;
  const Conv *conv = s->conv;
  const Window *w = &conv->window;
  size_t kernel = window_kernel(w), each = conv->features / conv->channels, first = four * LANES, feature[LANES];
  Ring ring = s->ring;
  ring.data = s->data + (size_t)thread * s->ring_floats;
  memset(ring.data, 0, s->ring_floats * sizeof(float));
  float *row = s->row + (size_t)thread * s->row_floats, *sum = s->sum + (size_t)thread * s->sum_floats;
  memset(sum, 0, s->sum_floats * sizeof(float));
  for (size_t l = 0; l < LANES; l++) feature[l] = least(first + l, conv->features - 1);
  for (size_t n = 0; n < conv->batch; n++) {
    Planes x, dy;
    for (size_t l = 0; l < LANES; l++) {
      x[l] = s->x + (n * conv->channels + feature[l] / each) * window_in(w);
      dy[l] = s->dy + (n * conv->features + feature[l]) * window_out(w);
    }
    ring.next = 0;
    for (size_t y = 0; y < w->out[0]; y++) {
      interleave(dy, y * w->out[1], w->out[1], row);
      for (size_t i = 0; i < w->kernel[0]; i++) {
        ptrdiff_t in;
        slide_meets(&s->slide, 0, y, i, &in);
        if (in < 0 || (size_t)in >= w->in[0]) continue;
        ring_read(&ring, &x, w->in[1], (size_t)in + 1);
        weight_row(w, ring_row(&ring, (size_t)in, 0), row, sum + i * w->kernel[1] * LANES);
      }
    }
  }
  for (size_t c = 0; c < kernel; c++)
    for (size_t l = 0; l < LANES; l++) s->dw[feature[l] * kernel + c] = sum[c * LANES + l];
}

void depthwise_weight_gradient(const Conv *conv, const float *x, const float *dy, float *dw, void *scratch) {
  Weight s;
  weight_plan(conv, &s, &(Scratch){.base = scratch});
  s.x = x, s.dy = dy, s.dw = dw;
  threads_run((conv->features + LANES - 1) / LANES, weight_task, &s);
}
