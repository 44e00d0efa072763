/* Byte product: two rows of B side by side make pairs, which one instruction multiplies and adds. Few rows of A read B
 * as it is; for more, panels of B are widened once, and tiles of sums stay in the registers.
 *
 *   panel: PAIRS pairs of rows of B, PANEL columns, eight columns behind another:  b0 b0' b1 b1' … b7 b7'
 */
#include "kernels/byte_product.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

enum {
  STEP = BYTE_COLUMNS,
  STRIPS = 64,  /* a thread takes at least so many columns, because shorter runs of a row are not fetched ahead */
  ROWS = 8,     /* rows of A for the last columns */
  CHUNK = 4096, /* sums of few rows, while the first cache holds them */
  FEW = 3,      /* rows of A that read B as it is */
  TILE = 4,     /* rows of A by eight columns */
  PANEL = 64,   /* columns: the bytes of a cache line */
  PAIRS = 32,
};

/* A less its point, each row followed by a 0 where the depth is odd; and the sums of these rows. */
typedef struct Centered {
  int16_t *a;
  int32_t *sums;
  size_t depth;
} Centered;

typedef struct Run {
  const ByteProduct *p;
  Centered a;
} Run;

static size_t even(size_t depth) { return depth + depth % 2; }

size_t byte_product_bytes(size_t rows, size_t depth) {
  return rows * (even(depth) * sizeof(int16_t) + sizeof(int32_t)) + 64;
}

static int as_signed(const uint8_t *byte, size_t i, uint8_t flip) {
  return byte ? (int8_t)(byte[i] ^ flip) : (int8_t)flip;
}

static Centered center(const ByteProduct *p, void *scratch) {
  Centered to = {.sums = scratch, .a = (int16_t *)((int32_t *)scratch + p->rows), .depth = even(p->depth)};
  int point = as_signed(p->a_point, 0, p->a_flip);
  for (size_t i = 0; i < p->rows; i++) {
    int16_t *row = to.a + i * to.depth;
    i32x4 sums = i32x4_splat(0);
    size_t k = 0;
    row[to.depth - 1] = 0;
    for (; k + 16 <= p->depth; k += 16) {
      i8x16 x = i8x16_load(p->a + i * p->depth + k) ^ (int8_t)p->a_flip;
      i16x8 low = i8x16_low(x) - (int16_t)point, high = i8x16_high(x) - (int16_t)point, one = i16x8_splat(1);
      i16x8_store(row + k, low), i16x8_store(row + k + 8, high);
      sums += i16x8_dot(low, one) + i16x8_dot(high, one);
    }
    uint32_t sum = (uint32_t)sums[0] + (uint32_t)sums[1] + (uint32_t)sums[2] + (uint32_t)sums[3]; /* may wrap */
    for (; k < p->depth; k++) {
      row[k] = (int16_t)(as_signed(p->a, i * p->depth + k, p->a_flip) - point);
      sum += (uint32_t)row[k];
    }
    to.sums[i] = (int32_t)sum;
  }
  return to;
}

/* c[j] += a[k] b[k][j] + a[k + 1] b[k + 1][j]; more terms at a time would be more rows of B than the processor fetches
 * ahead well */
static void add_pair(const Run *r, const int16_t *a, size_t k, size_t from, size_t count, int32_t *c) {
  const ByteProduct *p = r->p;
  const uint8_t *b = p->b + k * p->columns + from, *below = k + 1 < p->depth ? b + p->columns : b;
  i8x16 flip = i8x16_splat((int8_t)p->b_flip);
  int32_t both;
  memcpy(&both, a + k, sizeof both);
  i16x8 factors = (i16x8)i32x4_splat(both);
  for (size_t j = 0; j < count; j += STEP, c += STEP) {
    i8x16 upper = i8x16_load(b + j) ^ flip, lower = i8x16_load(below + j) ^ flip;
    i8x16 first = i8x16_zip_low(upper, lower), last = i8x16_zip_high(upper, lower);
    i32x4_store(c, i32x4_load(c) + i16x8_dot(i8x16_low(first), factors));
    i32x4_store(c + 4, i32x4_load(c + 4) + i16x8_dot(i8x16_high(first), factors));
    i32x4_store(c + 8, i32x4_load(c + 8) + i16x8_dot(i8x16_low(last), factors));
    i32x4_store(c + 12, i32x4_load(c + 12) + i16x8_dot(i8x16_high(last), factors));
  }
}

/* ---- panels ---- */

static void widen(const ByteProduct *p, size_t k, size_t pairs, size_t n, size_t count, i16x8 *panel) {
  i8x16 flip = i8x16_splat((int8_t)p->b_flip);
  for (size_t pair = 0; pair < pairs; pair++, k += 2) {
    const uint8_t *b = p->b + k * p->columns + n, *below = k + 1 < p->depth ? b + p->columns : b;
    for (size_t j = 0; j < count; j += 16) {
      i8x16 upper = i8x16_load(b + j) ^ flip, lower = i8x16_load(below + j) ^ flip;
      i8x16 first = i8x16_zip_low(upper, lower), last = i8x16_zip_high(upper, lower);
      i16x8 *to = panel + (j / 8 * PAIRS + pair) * 2;
      to[0] = i8x16_low(first), to[1] = i8x16_high(first);
      to[2 * PAIRS] = i8x16_low(last), to[2 * PAIRS + 1] = i8x16_high(last);
    }
  }
}

/* sum = c, sum += a · b for each pair of a row, c = sum: written out, for arrays of sums would not stay in registers.
 */
#define ROW_BEGIN(i) i32x4 left_##i = i32x4_load(c[i]), right_##i = i32x4_load(c[i] + 4)
#define ROW_ADD(i)                                                                                                     \
  do {                                                                                                                 \
    int32_t both;                                                                                                      \
    memcpy(&both, a[i] + 2 * pair, sizeof both);                                                                       \
    i16x8 factors = (i16x8)i32x4_splat(both);                                                                          \
    left_##i += i16x8_dot(left, factors), right_##i += i16x8_dot(right, factors);                                      \
  } while (0)
#define ROW_END(i) i32x4_store(c[i], left_##i), i32x4_store(c[i] + 4, right_##i)

/* The rows c[i] += the rows a[i] · eight columns; some of them may be the same row. */
static void tile_run(const int16_t *const a[TILE], const i16x8 *panel, size_t pairs, int32_t *const c[TILE]) {
  ROW_BEGIN(0);
  ROW_BEGIN(1);
  ROW_BEGIN(2);
  ROW_BEGIN(3);
  for (size_t pair = 0; pair < pairs; pair++) {
    i16x8 left = panel[2 * pair], right = panel[2 * pair + 1];
    ROW_ADD(0);
    ROW_ADD(1);
    ROW_ADD(2);
    ROW_ADD(3);
  }
  ROW_END(0), ROW_END(1), ROW_END(2), ROW_END(3);
}

static void panels_run(const Run *r, size_t from, size_t rows, size_t n, size_t count, int32_t *c, size_t stride) {
  i16x8 panel[PANEL * PAIRS / 4];
  size_t depth = r->a.depth;
  for (size_t at = 0, wide; at < count; at += wide) {
    wide = size_min(PANEL, count - at);
    for (size_t k = 0, pairs; k < depth; k += 2 * pairs) {
      pairs = size_min(PAIRS, (depth - k) / 2);
      widen(r->p, k, pairs, n + at, wide, panel);
      for (size_t i = 0; i < rows; i += TILE)
        for (size_t j = 0; j < wide; j += 8) {
          const int16_t *a[TILE];
          int32_t *to[TILE];
          for (size_t t = 0; t < TILE; t++) {
            size_t row = size_min(i + t, rows - 1);
            a[t] = r->a.a + (from + row) * depth + k, to[t] = c + row * stride + at + j;
          }
          tile_run(a, panel + j / 8 * PAIRS * 2, pairs, to);
        }
    }
  }
}

/* The points of four columns. */
static inline i32x4 points_at(const ByteProduct *p, size_t n) {
  if (!p->b_points || !p->b_point_stride) return i32x4_splat(as_signed(p->b_points, 0, p->b_flip));
  i32x4 points;
  for (size_t k = 0; k < 4; k++) points[k] = as_signed(p->b_points, n + k, p->b_flip);
  return points;
}

/* Rows from … from + rows of columns n … n + count, a multiple of STEP; c has rows of `stride`. */
static void chunk_run(const Run *r, size_t from, size_t rows, size_t n, size_t count, int32_t *c, size_t stride) {
  const ByteProduct *p = r->p;
  for (size_t i = 0; i < rows; i++) /* Σk a (b - point) = Σk a b - point · Σk a */
    for (size_t j = 0; j < count; j += 4) {
      i32x4 sum = i32x4_splat((int32_t)(0 - (uint32_t)r->a.sums[from + i]));
      i32x4_store(c + i * stride + j, sum * points_at(p, n + j));
    }
  if (rows > FEW) panels_run(r, from, rows, n, count, c, stride);
  for (size_t k = 0; k < p->depth && rows <= FEW; k += 2)
    for (size_t i = 0; i < rows; i++) add_pair(r, r->a.a + (from + i) * r->a.depth, k, n, count, c + i * stride);
}

/* The last columns are computed with those before them, so that nothing behind B is read. */
static void last_run(const Run *r, size_t from, size_t rows, size_t n, size_t end) {
  int32_t c[ROWS * STEP];
  chunk_run(r, from, rows, end - STEP, STEP, c, STEP);
  for (size_t i = 0; i < rows; i++)
    memcpy(r->p->c + (from + i) * r->p->columns + n, c + (i + 1) * STEP - (end - n), (end - n) * sizeof *c);
}

/* Computes strips of STEP columns each. */
static void run_strips(void *context, size_t from, size_t to) {
  const Run *r = context;
  const ByteProduct *p = r->p;
  size_t end = size_min(to * STEP, p->columns), whole = (end - from * STEP) / STEP * STEP, n = from * STEP;
  size_t most = p->rows > FEW ? whole : CHUNK / p->rows / STEP * STEP;
  for (size_t at = 0, count; at < whole; at += count, n += count) {
    count = size_min(most, whole - at);
    chunk_run(r, 0, p->rows, n, count, p->c + n, p->columns);
  }
  for (size_t i = 0; i < p->rows && n < end; i += ROWS) last_run(r, i, size_min(ROWS, p->rows - i), n, end);
}

/* Eight multiplications take about a nanosecond. */
void byte_product_run(const ByteProduct *p, void *scratch) {
  if (p->rows == 0) return;
  Run r = {p, center(p, scratch)};
  size_t grain = threads_grain(p->rows * p->depth / 8 + 1);
  threads_split(ceil_div(p->columns, STEP), STRIPS + grain / STEP, run_strips, &r);
}
