/* Depthwise 3×3: the strips. Each output is ((bias + row 0) + row 1) + row 2, whatever strip it is in, rows in the
 * padding left out. */
#include "kernels/depthwise_3x3.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

#define INLINE static inline __attribute__((always_inline))

static bool stride_is(const Window *w, size_t stride) { return w->stride[0] == stride && w->stride[1] == stride; }

static bool suits(const Conv *conv) {
  const Window *w = &conv->window;
  if (conv->channels != conv->groups) return false;
  for (int a = 0; a < 2; a++)
    if (w->kernel[a] != 3 || w->dilation[a] != 1 || w->pad[a] != 1) return false;
  if (!(conv_algorithms & CONV_DEPTHWISE_3X3)) return false;
  if (stride_is(w, 1)) return w->out[0] == w->in[0] && w->out[1] == w->in[1];
  return stride_is(w, 2) && w->out[0] == (w->in[0] + 1) / 2 && 2 * w->out[1] == w->in[1];
}

static bool suits_whole(const Conv *conv) { return suits(conv) && stride_is(&conv->window, 1); }
static bool suits_half(const Conv *conv) { return suits(conv) && stride_is(&conv->window, 2); }
/* The gradient of the input wants one feature a channel. */
static bool suits_whole_input(const Conv *conv) { return conv->features == conv->channels && suits_whole(conv); }
static bool suits_half_input(const Conv *conv) { return conv->features == conv->channels && suits_half(conv); }

static bool no_bytes(const Conv *conv, size_t *bytes) { return *bytes = 0, true; }

/* ---- what a row of x gives a strip: for each of four outputs the columns left of it, at it, right of it ---- */

/* The position of a strip in its row. ALL is a whole row of `part` < 4 pixels, NARROW a whole row of just 4. */
typedef enum Side { LEFT, MIDDLE, RIGHT, ALL, NARROW } Side;

/* Up to four pixels, zeros behind them. */
INLINE f32x4 load_part(const float *x, size_t count) {
  if (count >= 4) return f32x4_load(x);
  return (f32x4){count > 0 ? x[0] : 0, count > 1 ? x[1] : 0, count > 2 ? x[2] : 0, 0};
}

INLINE void store_part(float *y, f32x4 v, size_t count) {
  if (count >= 4) f32x4_store(y, v);
  else
    for (size_t i = 0; i < count; i++) y[i] = v[i];
}

INLINE f32x4 load_strip(const float *x, const Side side, size_t columns) {
  return side == NARROW ? load_part(x, columns) : f32x4_load(x);
}

INLINE f32x4 moved_right(f32x4 v) { return __builtin_shufflevector(f32x4_splat(0), v, 3, 4, 5, 6); }
INLINE f32x4 moved_left(f32x4 v) { return __builtin_shufflevector(v, f32x4_splat(0), 1, 2, 3, 4); }

typedef struct Three {
  f32x4 v[3];
} Three;

INLINE Three three_of(const float *x, const Side side, size_t columns) {
  f32x4 v = load_strip(x, side, columns);
  return (Three){{side == MIDDLE || side == RIGHT ? f32x4_load(x - 1) : moved_right(v), v,
                  side == MIDDLE || side == LEFT ? f32x4_load(x + 1) : moved_left(v)}};
}

/* Stride 2: x at the first output's own column; rows are even, so the right end needs no zeros. */
INLINE Three three_of_second(const float *x, const Side side, size_t columns) {
  f32x4 a = load_strip(x, side, columns), b = side != NARROW ? f32x4_load(x + 4)
                                            : columns > 4    ? load_part(x + 4, columns - 4)
                                                             : f32x4_splat(0);
  f32x4 own = __builtin_shufflevector(a, b, 0, 2, 4, 6), after = __builtin_shufflevector(a, b, 1, 3, 5, 7);
  return (Three){{side == MIDDLE ? __builtin_shufflevector(f32x4_load(x - 4), after, 3, 4, 5, 6) : moved_right(after),
                  own, after}};
}

INLINE f32x4 dot3(const f32x4 *w, Three t) { return f32x4_madd(w[2], t.v[2], f32x4_madd(w[1], t.v[1], w[0] * t.v[0])); }

/* ---- forward ---- */

typedef struct Plane {
  const float *x;
  float *y;
  size_t rows, columns;         /* x's */
  size_t out_rows, out_columns; /* y's */
  bool clamp;
  f32x4 bias, low, high;
} Plane;

INLINE void store(const Plane *p, const Side side, float *y, f32x4 v) {
  if (p->clamp) v = f32x4_min(p->high, f32x4_max(p->low, v));
  if (side == NARROW) store_part(y, v, p->out_columns);
  else f32x4_store(y, v);
}

/* Going down, `next` has row 0 of the kernel added already and `sum` rows 0 and 1. */
INLINE void strip(const Plane *p, const f32x4 w[9], size_t column, const Side side) {
  const float *x = p->x + column, *end = x + p->rows * p->columns;
  float *y = p->y + column;
  Three t = three_of(x, side, p->columns);
  f32x4 sum = p->bias + dot3(w + 3, t), next = p->bias + dot3(w, t);
  for (x += p->columns; x < end; x += p->columns, y += p->columns) {
    t = three_of(x, side, p->columns);
    store(p, side, y, sum + dot3(w + 6, t));
    sum = next + dot3(w + 3, t);
    next = p->bias + dot3(w, t);
  }
  store(p, side, y, sum);
}

INLINE void strip_of_second(const Plane *p, const f32x4 w[9], size_t column, const Side side) {
  const float *x = p->x + 2 * column;
  float *y = p->y + column;
  f32x4 sum = p->bias;
  for (size_t row = 0; row < p->rows; row += 2, x += 2 * p->columns, y += p->out_columns) {
    sum += dot3(w + 3, three_of_second(x, side, p->columns));
    if (row + 1 < p->rows) {
      Three t = three_of_second(x + p->columns, side, p->columns);
      store(p, side, y, sum + dot3(w + 6, t));
      sum = p->bias + dot3(w, t);
    } else {
      store(p, side, y, sum);
    }
  }
}

/* The last strip may overlap the one before it. */
static __attribute__((noinline)) void plane_run(const Plane *p, const float weight[9], const bool flipped) {
  f32x4 w[9];
  for (int i = 0; i < 9; i++) w[i] = f32x4_splat(weight[flipped ? 8 - i : i]);
  if (p->columns > 4) {
    strip(p, w, 0, LEFT);
    for (size_t c = 4; c + 4 < p->columns; c += 4) strip(p, w, c, MIDDLE);
    strip(p, w, p->columns - 4, RIGHT);
  } else if (p->columns == 4) {
    strip(p, w, 0, ALL);
  } else {
    strip(p, w, 0, NARROW);
  }
}

static __attribute__((noinline)) void plane_run_second(const Plane *p, const float weight[9]) {
  f32x4 w[9];
  for (int i = 0; i < 9; i++) w[i] = f32x4_splat(weight[i]);
  if (p->out_columns >= 4) {
    strip_of_second(p, w, 0, LEFT);
    for (size_t c = 4; c < p->out_columns; c += 4) strip_of_second(p, w, size_min(c, p->out_columns - 4), MIDDLE);
  } else {
    strip_of_second(p, w, 0, NARROW);
  }
}

typedef struct Job {
  const Conv *conv;
  const float *x, *w, *bias;
  float *y;
  bool turned;
} Job;

static Plane plane_of(const Job *j) {
  const Conv *conv = j->conv;
  const Window *w = &conv->window;
  return (Plane){.rows = w->in[0],
                 .columns = w->in[1],
                 .out_rows = w->out[0],
                 .out_columns = w->out[1],
                 .clamp = conv->clamp && !j->turned,
                 .low = f32x4_splat(conv->low),
                 .high = f32x4_splat(conv->high)};
}

/* The i-th plane of y, with its x and bias; gives its weights. */
static const float *plane_at(const Job *j, size_t i, Plane *p) {
  const Conv *conv = j->conv;
  size_t feature = i % conv->features;
  p->x = j->x + i / (conv->features / conv->channels) * window_in(&conv->window);
  p->y = j->y + i * window_out(&conv->window);
  p->bias = f32x4_splat(j->bias ? j->bias[feature] : 0);
  return j->w + feature * 9;
}

static void forward_planes(void *context, size_t from, size_t to) {
  const Job *j = context;
  Plane p = plane_of(j);
  for (size_t i = from; i < to; i++) plane_run(&p, plane_at(j, i, &p), j->turned);
}

static void half_planes(void *context, size_t from, size_t to) {
  Plane p = plane_of(context);
  for (size_t i = from; i < to; i++) plane_run_second(&p, plane_at(context, i, &p));
}

static void job_run(Job *job, ThreadsRange *task) {
  const Conv *conv = job->conv;
  threads_split(conv->batch * conv->features, threads_grain(2 * window_out(&conv->window)), task, job);
}

static void forward(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  job_run(&(Job){.conv = conv, .x = x, .w = w, .bias = bias, .y = y}, forward_planes);
}

static void half(const Conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch) {
  job_run(&(Job){.conv = conv, .x = x, .w = w, .bias = bias, .y = y}, half_planes);
}

/* dx is a convolution of dy like y of x, the kernel backwards. */
static void input_gradient(const Conv *conv, const float *dy, const float *w, const float *bias, float *dx,
                           void *scratch) {
  job_run(&(Job){.conv = conv, .x = dy, .w = w, .y = dx, .turned = true}, forward_planes);
}

const ConvVariant conv_depthwise_3x3 = {VARIANT_conv_depthwise_3x3, suits_whole, NULL, no_bytes, forward};
const ConvVariant conv_depthwise_3x3_input = {VARIANT_conv_depthwise_3x3, suits_whole_input, NULL, no_bytes,
                                              input_gradient};
const ConvVariant conv_depthwise_3x3_half = {VARIANT_conv_depthwise_3x3_half, suits_half, NULL, no_bytes, half};

/* ---- input gradient, stride 2: pixels of dx by twos in both directions ----
 *
 *   dx[2p][2q] = w4 a   dx[2p][2q + 1] = w5 a + w3 a'   dx[2p + 1][2q] = w7 a + w1 b   dx[2p + 1][2q + 1] = w8 a + w6
 * a' + w2 b + w0 b' a, a' = dy[p][q], dy[p][q + 1];  b, b' one row below
 */

INLINE void store_pairs(float *x, f32x4 even, f32x4 odd, const Side side, size_t columns) {
  f32x4 low = __builtin_shufflevector(even, odd, 0, 4, 1, 5), high = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
  if (side == NARROW) {
    store_part(x, low, columns);
    if (columns > 4) store_part(x + 4, high, columns - 4);
  } else {
    f32x4_store(x, low);
    f32x4_store(x + 4, high);
  }
}

INLINE f32x4 after(const float *dy, f32x4 v, const Side side) {
  return side == MIDDLE ? f32x4_load(dy + 1) : moved_left(v);
}

INLINE void strip_back(const Window *window, const f32x4 w[9], const float *dy, float *dx, const Side side) {
  size_t columns = window->in[1];
  f32x4 zero = f32x4_splat(0), a = load_strip(dy, side, window->out[1]), a1 = after(dy, a, side);
  for (size_t row = 0; row < window->out[0]; row++, dx += 2 * columns) {
    f32x4 b = zero, b1 = zero;
    dy += window->out[1];
    if (row + 1 < window->out[0]) {
      b = load_strip(dy, side, window->out[1]);
      b1 = after(dy, b, side);
    }
    store_pairs(dx, w[4] * a, f32x4_madd(w[3], a1, w[5] * a), side, columns);
    if (2 * row + 1 < window->in[0])
      store_pairs(dx + columns, f32x4_madd(w[1], b, w[7] * a),
                  f32x4_madd(w[6], a1, w[8] * a) + f32x4_madd(w[0], b1, w[2] * b), side, columns);
    a = b, a1 = b1;
  }
}

static __attribute__((noinline)) void plane_back(const Window *window, const float weight[9], const float *dy,
                                                 float *dx) {
  size_t columns = window->out[1], c = 0;
  f32x4 w[9];
  for (int i = 0; i < 9; i++) w[i] = f32x4_splat(weight[i]);
  for (; c + 4 < columns; c += 4) strip_back(window, w, dy + c, dx + 2 * c, MIDDLE);
  if (columns >= 4) strip_back(window, w, dy + columns - 4, dx + 2 * (columns - 4), RIGHT);
  else strip_back(window, w, dy, dx, NARROW);
}

static void back_planes(void *context, size_t from, size_t to) {
  const Job *j = context;
  const Window *w = &j->conv->window;
  for (size_t i = from; i < to; i++)
    plane_back(w, j->w + i % j->conv->features * 9, j->x + i * window_out(w), j->y + i * window_in(w));
}

static void half_input_gradient(const Conv *conv, const float *dy, const float *w, const float *bias, float *dx,
                                void *scratch) {
  job_run(&(Job){.conv = conv, .x = dy, .w = w, .y = dx}, back_planes);
}

const ConvVariant conv_depthwise_3x3_half_input = {VARIANT_conv_depthwise_3x3_half_input, suits_half_input, NULL,
                                                   no_bytes, half_input_gradient};

/* ---- weight gradient ---- */

/* Keeps loads where they stand: three shifts of a row at once would not fit the registers beside nine sums. */
#define BARRIER() __asm__ volatile("" ::: "memory")

typedef struct Strip {
  const Window *window;
  const float *x, *dy;
  i32x4 mask; /* the lanes that no strip before had */
} Strip;

INLINE f32x4 load_dy(const Strip *s, const float *dy, const Side side) {
  return (f32x4)((i32x4)load_strip(dy, side, s->window->out[1]) & s->mask);
}

/* A row of x meets the row of dy below it, its own, the one above it. */
INLINE void strip_weights(const Strip *s, f32x4 total[9], const Side side) {
  const Window *w = s->window;
  const float *x = s->x, *dy = s->dy;
  f32x4 sum[9], zero = f32x4_splat(0), above = zero, own = load_dy(s, dy, side);
  for (int i = 0; i < 9; i++) sum[i] = total[i];
  for (size_t row = 0; row < w->in[0]; row++, x += w->in[1]) {
    dy += w->out[1];
    f32x4 below = row + 1 < w->out[0] ? load_dy(s, dy, side) : zero;
    for (int j = 0; j < 3; j++) {
      BARRIER();
      f32x4 v = three_of(x, side, w->in[1]).v[j];
      sum[j] = f32x4_madd(below, v, sum[j]);
      sum[3 + j] = f32x4_madd(own, v, sum[3 + j]);
      sum[6 + j] = f32x4_madd(above, v, sum[6 + j]);
    }
    above = own, own = below;
  }
  for (int i = 0; i < 9; i++) total[i] = sum[i];
}

INLINE void add3(f32x4 *sum, f32x4 dy, Three t) {
  for (int i = 0; i < 3; i++) sum[i] = f32x4_madd(dy, t.v[i], sum[i]);
}

INLINE void strip_weights_second(const Strip *s, f32x4 total[9], const Side side) {
  const Window *w = s->window;
  const float *x = s->x, *dy = s->dy;
  f32x4 sum[9], zero = f32x4_splat(0), own = load_dy(s, dy, side);
  for (int i = 0; i < 9; i++) sum[i] = total[i];
  for (size_t row = 0; row < w->out[0]; row++, x += 2 * w->in[1]) {
    dy += w->out[1];
    f32x4 below = row + 1 < w->out[0] ? load_dy(s, dy, side) : zero;
    add3(sum + 3, own, three_of_second(x, side, w->in[1]));
    if (2 * row + 1 < w->in[0]) {
      Three t = three_of_second(x + w->in[1], side, w->in[1]);
      add3(sum, below, t);
      add3(sum + 6, own, t);
    }
    own = below;
  }
  for (int i = 0; i < 9; i++) total[i] = sum[i];
}

/* Lanes of the last strip that come after `columns`. */
static i32x4 mask_from(size_t columns, size_t strip) {
  i32x4 lane = {0, 1, 2, 3};
  return lane >= i32x4_splat((int32_t)(columns - strip));
}

static __attribute__((noinline)) void plane_weights(const Window *w, const float *x, const float *dy, f32x4 total[9]) {
  size_t columns = w->out[1], last = columns - 4, stride = w->stride[1];
  Strip s = {w, x, dy, i32x4_splat(-1)};
  if (columns < 4 || (columns == 4 && stride == 1)) {
    if (columns == 4) strip_weights(&s, total, ALL);
    else if (stride == 1) strip_weights(&s, total, NARROW);
    else strip_weights_second(&s, total, NARROW);
    return;
  }
  if (stride == 1) strip_weights(&s, total, LEFT);
  else strip_weights_second(&s, total, LEFT);
  for (size_t c = 4; c < columns; c += 4) {
    size_t at = size_min(c, last);
    if (at < c) s.mask = mask_from(c, last);
    s.x = x + stride * at, s.dy = dy + at;
    if (stride == 2) strip_weights_second(&s, total, MIDDLE);
    else if (at == last) strip_weights(&s, total, RIGHT);
    else strip_weights(&s, total, MIDDLE);
  }
}

/* dw of features from … to - 1 */
static void weight_features(void *context, size_t from, size_t to) {
  const Job *j = context;
  const Conv *conv = j->conv;
  const Window *w = &conv->window;
  for (size_t feature = from; feature < to; feature++) {
    size_t channel = feature / (conv->features / conv->channels);
    f32x4 total[9];
    for (int i = 0; i < 9; i++) total[i] = f32x4_splat(0);
    for (size_t n = 0; n < conv->batch; n++)
      plane_weights(w, j->x + (n * conv->channels + channel) * window_in(w),
                    j->w + (n * conv->features + feature) * window_out(w), total);
    for (int i = 0; i < 9; i++) j->y[feature * 9 + (size_t)i] = f32x4_sum(total[i]);
  }
}

static void weight_gradient(const Conv *conv, const float *x, const float *dy, const float *bias, float *dw,
                            void *scratch) {
  Job job = {.conv = conv, .x = x, .w = dy, .y = dw};
  threads_split(conv->features, threads_grain(2 * conv->batch * window_out(&conv->window)), weight_features, &job);
}

const ConvVariant conv_depthwise_3x3_weights = {VARIANT_conv_depthwise_3x3_weights, suits, NULL, no_bytes,
                                                weight_gradient};
