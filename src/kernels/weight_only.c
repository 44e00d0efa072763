/* Weight-only quantized products: numbers out of their bits in registers, multiplied at once. */
#include "kernels/weight_only.h"
#include "kernels/gemm_pack.h"
#include "kernels/number.h"
#include "kernels/weight_only_dots.h"
#include "kernels/weight_only_sums.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

enum {
  STEP = 16,    /* numbers at a time */
  PART = 256,   /* columns that are worth a thread */
  SUMS = 4096,  /* sums of all rows, on the stack; rows of W are read in runs of so many or, for eight rows, of 512 */
  DEPTH = 256,  /* numbers in a sum, to which the next such sum is added: the longer, the less exact */
  PANEL = 8,    /* columns */
  STRETCH = 64, /* numbers of each of them that are widened before they are packed */
};

bool weight_only_fits(const WeightOnly *w) {
  if (w->turned) return false;
  if (!w->dots) return w->kind != WEIGHT_ONLY_4 && w->columns >= STEP && w->block > 0;
  return w->kind == WEIGHT_ONLY_HALF ? w->depth % STEP == 0 : weight_only_dots_fits(w);
}

bool weight_only_bytes(const WeightOnly *w, size_t rows, size_t *bytes) {
  *bytes = 0;
  if (w->kind == WEIGHT_ONLY_HALF) return true;
  return w->dots ? weight_only_dots_bytes(w, rows, bytes) : weight_only_sums_bytes(w, rows, bytes);
}

/* ---- sixteen numbers ---- */

typedef struct Numbers16 {
  f32x4 v[4];
} Numbers16;

/* The exponent of float16 is 112 less than float32's: 2^112 makes up for it, of subnormal numbers too. */
static inline f32x4 of_half(i32x4 shifted) {
  return (f32x4)(shifted >> 3 & i32x4_splat((int32_t)0x8fffe000)) * f32x4_splat(0x1p112f);
}

/* Numbers i … i + 15 of W. */
static inline Numbers16 halves_at(const WeightOnly *w, size_t i) {
  const uint16_t *halves = w->data;
  i16x8 low = i16x8_load(halves + i), high = i16x8_load(halves + i + 8);
  return (Numbers16){{of_half(i16x8_low_shifted(low)), of_half(i16x8_high_shifted(low)),
                      of_half(i16x8_low_shifted(high)), of_half(i16x8_high_shifted(high))}};
}

static inline int16_t point_at(const WeightOnly *w, size_t n, size_t block) {
  size_t i = n * w->point_column + block * w->point_block;
  if (!w->points) return w->point;
  return w->kind == WEIGHT_ONLY_4 ? w->points[i / 2] >> i % 2 * 4 & 15 : (int8_t)(w->points[i] ^ w->flip);
}

static inline float unit_of(WeightOnlyKind kind) { return kind == WEIGHT_ONLY_HALF ? 1 : 0x1p-16f; }

static inline float scale_at(const WeightOnly *w, size_t n, size_t block) {
  return w->scales ? w->scales[n * w->scale_column + block * w->scale_block] : w->scale;
}

/* ---- dots, of float16 ---- */

/* sum[i] = Σk a[i][k] w(k, n) for a constant number of rows, 1 or 2 */
static inline __attribute__((always_inline)) void dots_of(const int rows, const WeightOnly *w, const float *a, size_t n,
                                                          float *sum) {
  f32x4 even = f32x4_splat(0), odd = even, next_even = even, next_odd = even;
  const float *next = a + w->depth;
  for (size_t k = 0; k < w->depth; k += STEP) {
    Numbers16 q = halves_at(w, n * w->depth + k);
    even = f32x4_madd(q.v[0], f32x4_load(a + k), even);
    odd = f32x4_madd(q.v[1], f32x4_load(a + k + 4), odd);
    even = f32x4_madd(q.v[2], f32x4_load(a + k + 8), even);
    odd = f32x4_madd(q.v[3], f32x4_load(a + k + 12), odd);
    if (rows == 1) continue;
    next_even = f32x4_madd(q.v[0], f32x4_load(next + k), next_even);
    next_odd = f32x4_madd(q.v[1], f32x4_load(next + k + 4), next_odd);
    next_even = f32x4_madd(q.v[2], f32x4_load(next + k + 8), next_even);
    next_odd = f32x4_madd(q.v[3], f32x4_load(next + k + 12), next_odd);
  }
  sum[0] = f32x4_sum(even + odd) * w->scale;
  if (rows > 1) sum[1] = f32x4_sum(next_even + next_odd) * w->scale;
}

/* ---- rows of float16 added up ---- */

/* Sums of `count` columns, row after row. */
typedef struct Sums {
  float *data;
  size_t count;
} Sums;

/* sum[i][j] += a[i] · w(n + j) of one row of W, whose column n is `at`, for a constant number of rows, 1 or 2. More of
 * W's rows at a time would be more than the processor fetches ahead well. */
static inline __attribute__((always_inline)) void add_row(const int rows, const WeightOnly *w, const float *a,
                                                          size_t at, const Sums *sums) {
  f32x4 one = f32x4_splat(a[0]), two = rows > 1 ? f32x4_splat(a[w->depth]) : one;
  float *sum = sums->data, *next = sum + sums->count;
  for (size_t j = 0; j < sums->count; j += STEP) {
    Numbers16 q = halves_at(w, at + j);
#define ADD(l)                                                                                                         \
  f32x4_store(sum + j + 4 * l, f32x4_madd(one, q.v[l], f32x4_load(sum + j + 4 * l)));                                  \
  if (rows > 1) f32x4_store(next + j + 4 * l, f32x4_madd(two, q.v[l], f32x4_load(next + j + 4 * l)));
    ADD(0) ADD(1) ADD(2) ADD(3)
  }
}

/* For all rows while the first cache holds this one of W. */
static void add_rows(const WeightOnly *w, size_t rows, const float *a, size_t at, Sums sums) {
  for (size_t i = 0; i < rows; i += 2, a += 2 * w->depth, sums.data += 2 * sums.count) {
    if (i + 1 < rows) add_row(2, w, a, at, &sums);
    else add_row(1, w, a, at, &sums);
  }
}

/* ---- on all threads ---- */

typedef struct Product {
  const WeightOnly *w;
  size_t rows;
  const float *a, *d;
  float *c;
  void *scratch;
  /* parts of the columns, as few as there are threads, because short runs of a row are not fetched ahead */
  size_t parts;
} Product;

/* For float16 weights: c += scale · Σ a(k) w(k, n) */
static void add_halves(const Product *p, size_t n, size_t count, float *c, size_t stride) {
  const WeightOnly *w = p->w;
  float data[SUMS];
  for (size_t from = 0; from < w->depth;) {
    size_t end = size_min(w->depth, from + DEPTH);
    memset(data, 0, p->rows * count * sizeof(float));
    for (; from < end; from++) add_rows(w, p->rows, p->a + from, from * w->columns + n, (Sums){data, count});
    for (size_t i = 0; i < p->rows; i++)
      for (size_t j = 0; j < count; j += 4) {
        float *to = c + i * stride + j;
        f32x4_store(to, f32x4_load(to) + w->scale * f32x4_load(data + i * count + j));
      }
  }
}

/* Columns n … n + count, a multiple of STEP, of which c has rows of `stride`. */
static void add_chunk(const Product *p, size_t n, size_t count, float *c, size_t stride) {
  const WeightOnly *w = p->w;
  for (size_t i = 0; i < p->rows; i++) {
    if (p->d) memcpy(c + i * stride, p->d + n, count * sizeof(float));
    else memset(c + i * stride, 0, count * sizeof(float));
  }
  if (w->kind == WEIGHT_ONLY_HALF) add_halves(p, n, count, c, stride);
  else weight_only_sums_add(w, p->rows, p->scratch, n, count, c, stride);
}

/* The last columns are computed with those before them, so that nothing behind W is read. */
static void add_last(const Product *p, size_t n, size_t end) {
  float c[WEIGHT_ONLY_ROWS * STEP];
  add_chunk(p, end - STEP, STEP, c, STEP);
  for (size_t i = 0; i < p->rows; i++)
    memcpy(p->c + i * p->w->columns + n, c + (i + 1) * STEP - (end - n), (end - n) * sizeof(float));
}

/* Columns of a part of them, for all rows of W. */
static void add_part(void *context, size_t part, int thread) {
  const Product *p = context;
  size_t strips = ceil_div(p->w->columns, STEP), end = size_min(strips * (part + 1) / p->parts * STEP, p->w->columns),
         count;
  for (size_t n = strips * part / p->parts * STEP; n < end; n += count) {
    count = size_min(SUMS / p->rows, end - n);
    if (count >= STEP) add_chunk(p, n, count = count / STEP * STEP, p->c + n, p->w->columns);
    else add_last(p, n, end);
  }
}

static void dot_range(void *context, size_t from, size_t to) {
  const Product *p = context;
  const WeightOnly *w = p->w;
  for (size_t n = from; n < to; n++)
    for (size_t i = 0; i < p->rows; i += 2) {
      const float *a = p->a + i * w->depth;
      float sum[2], *c = p->c + i * w->columns + n, d = p->d ? p->d[n] : 0;
      bool pair = i + 1 < p->rows;
      if (pair) dots_of(2, w, a, n, sum);
      else dots_of(1, w, a, n, sum);
      c[0] = sum[0] + d;
      if (pair) c[w->columns] = sum[1] + d;
    }
}

/* Four multiplications take about a nanosecond. */
void weight_only_run(const WeightOnly *w, size_t rows, const float *a, const float *d, float *c, void *scratch) {
  if (rows == 0) return;
  if (w->dots && w->kind != WEIGHT_ONLY_HALF) {
    weight_only_dots_run(w, rows, a, d, c, scratch);
    return;
  }
  if (!w->dots && w->kind != WEIGHT_ONLY_HALF) weight_only_sums_begin(w, rows, a, scratch);
  Product p = {w, rows, a, d, c, scratch, size_min((size_t)threads_count(), w->columns / PART + 1)};
  if (w->dots) threads_split(w->columns, threads_grain(rows * w->depth / 4 + 1), dot_range, &p);
  else threads_run(p.parts, add_part, &p);
}

/* ---- panels ---- */

typedef struct Numbers8 {
  f32x4 low, high;
} Numbers8;

/* Numbers i … i + 7, i even with WEIGHT_ONLY_4; as numbers_at gives them. */
static inline Numbers8 eight_at(const WeightOnly *w, size_t i, i16x8 point) {
  const uint8_t *bytes = w->data;
  if (w->kind == WEIGHT_ONLY_HALF) {
    i16x8 halves = i16x8_load((const uint16_t *)w->data + i);
    return (Numbers8){of_half(i16x8_low_shifted(halves)), of_half(i16x8_high_shifted(halves))};
  }
  i8x16 q;
  if (w->kind == WEIGHT_ONLY_4) {
    int32_t four;
    memcpy(&four, bytes + i / 2, sizeof four);
    i8x16 pairs = (i8x16)i32x4_splat(four);
    q = i8x16_zip_low(pairs & i8x16_splat(15), u8x16_upper(pairs));
  } else {
    q = i8x16_load_half(bytes + i) ^ i8x16_splat((int8_t)w->flip);
  }
  i16x8 less = i8x16_low(q) - point;
  return (Numbers8){i32x4_to_f32(i16x8_low_shifted(less)), i32x4_to_f32(i16x8_high_shifted(less))};
}

static float one_at(const WeightOnly *w, size_t i, int16_t point) {
  const uint8_t *bytes = w->data;
  if (w->kind == WEIGHT_ONLY_HALF) return half_to_float(((const uint16_t *)w->data)[i]);
  int q = w->kind == WEIGHT_ONLY_4 ? bytes[i / 2] >> i % 2 * 4 & 15 : (int8_t)(bytes[i] ^ w->flip);
  return (float)(q - point);
}

/* Eight numbers of a row of W as it lies in memory, from a place on, all of them in one block. */
static inline void widen_eight(const WeightOnly *w, size_t row, size_t place, size_t block, float *to) {
  const float *scales = w->dots || !w->scales ? NULL : w->scales + block * w->scale_block + place;
  const uint8_t *points = w->dots || !w->points ? NULL : w->points + block * w->point_block + place;
  f32x4 unit = f32x4_splat(unit_of(w->kind)), all = scales ? unit : unit * f32x4_splat(scale_at(w, row, block));
  i16x8 point = points ? i8x16_low(i8x16_load_half(points) ^ i8x16_splat((int8_t)w->flip))
                       : i16x8_splat(point_at(w, row, block));
  Numbers8 q = eight_at(w, row * (w->dots ? w->depth : w->columns) + place, point);
  f32x4_store(to, q.low * (scales ? unit * f32x4_load(scales) : all));
  f32x4_store(to + 4, q.high * (scales ? unit * f32x4_load(scales + 4) : all));
}

static void widen(const WeightOnly *w, size_t row, size_t place, size_t count, float *to) {
  size_t start = row * (w->dots ? w->depth : w->columns), step;
  bool blocks = w->block < w->depth;
  for (size_t end = place + count; place < end; place += step, to += step) {
    size_t block = blocks ? (w->dots ? place : row) / w->block : 0, column = w->dots ? row : place;
    bool whole = !w->dots || !blocks || place + PANEL <= (block + 1) * w->block;
    step = whole && end - place >= PANEL && !(w->kind == WEIGHT_ONLY_4 && (start + place) % 2) ? PANEL : 1;
    if (step == PANEL) widen_eight(w, row, place, block, to);
    else *to = one_at(w, start + place, point_at(w, column, block)) * scale_at(w, column, block);
  }
}

void weight_only_fill(const void *weight, size_t column, size_t count, size_t from, size_t depth, float *packed) {
  const WeightOnly *w = weight;
  if (w->dots == w->turned) { /* columns are places in rows of W */
    for (size_t k = 0; k < depth; k++, packed += PANEL) {
      widen(w, from + k, column, count, packed);
      for (size_t i = count; i < PANEL; i++) packed[i] = 0;
    }
    return;
  }
  float rows[PANEL * STRETCH];
  GemmSource source = gemm_b(rows, STRETCH, true);
  for (size_t k = 0, part; k < depth; k += part) {
    part = size_min(STRETCH, depth - k);
    for (size_t i = 0; i < count; i++) widen(w, column + i, from + k, part, rows + i * STRETCH);
    gemm_pack_panel(&source, 0, count, PANEL, 0, part, packed + k * PANEL);
  }
}
