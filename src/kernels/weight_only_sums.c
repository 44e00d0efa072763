/* Sums of rows: two rows of W at a time, whose bytes are put beside each other, so that one instruction multiplies and
 * adds eight.
 *
 *   a(k)  a(k + 1)  ·  q(k, n)      q(k, n + 1)     …   each sum n adds up a unit of k's, exact in 32 bits:
 *                      q(k + 1, n)  q(k + 1, n + 1) …   c(n) += unit · scale(n) · (sum(n) - point(n) · Σ a(k))
 */
#include "kernels/weight_only_sums.h"

#include "arena.h"
#include "kernels/weight_only_dots.h"
#include "simd.h"
#include "size.h"

enum {
  UNIT = WEIGHT_ONLY_UNIT, /* k's at most: fewer at the end of a block of W */
  STEP = 16,               /* columns at a time */
  SUMS = 4096,             /* on the stack */
  ROWS = 4,                /* rows of W at a time: each sum is loaded and stored so many times less often */
  NEAR = 2048,             /* columns: rows that are fetched must lie behind each other, and stay in the first cache */
};

/* UNIT numbers of a row of A. */
typedef struct Unit {
  int16_t numbers[UNIT];
  float scale;
  int32_t sum;
} Unit;

static size_t units_of(const WeightOnly *w) {
  return ceil_div(w->depth, w->block) * ceil_div(size_min(w->block, w->depth), UNIT);
}

/* The number of k's in the unit that begins at k. */
static size_t unit_length(const WeightOnly *w, size_t k) {
  return size_min(UNIT, size_min(w->block - k % w->block, w->depth - k));
}

bool weight_only_sums_bytes(const WeightOnly *w, size_t rows, size_t *bytes) {
  return size_multiply(rows, units_of(w), bytes) && size_multiply(*bytes, sizeof(Unit), bytes);
}

void weight_only_sums_begin(const WeightOnly *w, size_t rows, const float *a, void *scratch) {
  for (size_t row = 0; row < rows; row++, a += w->depth) {
    Unit *unit = (Unit *)scratch + row * units_of(w);
    for (size_t k = 0, length; k < w->depth; k += length, unit++) {
      float part[UNIT] = {0};
      memcpy(part, a + k, (length = unit_length(w, k)) * sizeof *part);
      unit->scale = weight_only_whole(part, 1, unit->numbers, &unit->sum);
    }
  }
}

/* The factors of two rows of W. */
static inline i16x8 both(const int16_t *a) {
  int32_t two;
  memcpy(&two, a, sizeof two);
  return (i16x8)i32x4_splat(two);
}

/* sum[n] += Σ a(k) q(k, n) of ROWS rows of W, or of 2. A byte of each cache line is read of what is wanted next,
 * `ahead`, for memory is fetched ahead along one stream, not along several. */
static inline __attribute__((always_inline)) void add_rows(bool all, const int16_t *a, const uint8_t *w, size_t stride,
                                                           i8x16 flip, size_t count, int32_t *sum, const uint8_t *ahead,
                                                           size_t ahead_step) {
  i16x8 f0 = both(a), f1 = all ? both(a + 2) : f0;
  for (size_t n = 0; n < count; n += STEP, w += STEP, ahead += ahead_step) {
    if (all) (void)*(volatile const uint8_t *)ahead;
    i32x4 s0 = i32x4_load(sum + n), s1 = i32x4_load(sum + n + 4), s2 = i32x4_load(sum + n + 8),
          s3 = i32x4_load(sum + n + 12);
#define PAIR(i)                                                                                                        \
  do {                                                                                                                 \
    i8x16 one = i8x16_load(w + 2 * i * stride) ^ flip, two = i8x16_load(w + (2 * i + 1) * stride) ^ flip;              \
    i8x16 low = i8x16_zip_low(one, two), high = i8x16_zip_high(one, two);                                              \
    s0 += i16x8_dot(i8x16_low(low), f##i), s1 += i16x8_dot(i8x16_high(low), f##i);                                     \
    s2 += i16x8_dot(i8x16_low(high), f##i), s3 += i16x8_dot(i8x16_high(high), f##i);                                   \
  } while (0)
    PAIR(0);
    if (all) PAIR(1);
    i32x4_store(sum + n, s0), i32x4_store(sum + n + 4, s1);
    i32x4_store(sum + n + 8, s2), i32x4_store(sum + n + 12, s3);
  }
}

/* ROWS rows of W from `at` on, a part of the columns after the other; with each one of the next ROWS rows is fetched.
 */
static void add_parts(const WeightOnly *w, const int16_t *a, const uint8_t *at, bool fetches, size_t count,
                      int32_t *sum) {
  size_t part = ceil_div(count, ROWS * STEP) * STEP, step = fetches ? ROWS * STEP : 0;
  const uint8_t *ahead = fetches ? at + ROWS * w->columns : at;
  for (size_t n = 0; n < count; n += part, ahead += step ? w->columns : 0)
    add_rows(true, a, at + n, w->columns, i8x16_splat((int8_t)w->flip), size_min(part, count - n), sum + n, ahead,
             step);
}

/* A unit's sums of all rows, whose units are `units` apart; W's rows are multiplied while the first cache holds them.
 */
static void add_unit(const WeightOnly *w, size_t rows, const Unit *unit, size_t units, size_t from, size_t n,
                     size_t length, size_t count, int32_t *sum) {
  const uint8_t *at = (const uint8_t *)w->data + from * w->columns + n;
  for (size_t k = 0, step; k < length; k += step, at += step * w->columns) {
    step = length - k >= ROWS ? ROWS : size_min(2, length - k);
    bool fetches = count == w->columns && count <= NEAR && from + k + 2 * ROWS <= w->depth;
    for (size_t row = 0; row < rows; row++) {
      const int16_t *a = unit[row * units].numbers + k;
      int32_t *to = sum + row * count;
      if (step == ROWS) add_parts(w, a, at, fetches, count, to);
      else add_rows(false, a, at, step == 2 ? w->columns : 0, i8x16_splat((int8_t)w->flip), count, to, at, 0);
    }
  }
}

/* c += unit · scale · (sum - point · Σ a) */
static void put_unit(const WeightOnly *w, const Unit *unit, size_t n, size_t block, size_t count, const int32_t *sum,
                     float *c) {
  const float *scales = w->scales ? w->scales + n + block * w->scale_block : NULL;
  const uint8_t *points = w->points ? w->points + n + block * w->point_block : NULL;
  f32x4 scale = f32x4_splat(unit->scale * (scales ? 1 : w->scale));
  for (size_t j = 0; j < count; j += 4) {
    i32x4 point = i32x4_splat(w->point);
    if (points) {
      int32_t four;
      memcpy(&four, points + j, sizeof four);
      i8x16 q = (i8x16)i32x4_splat(four) ^ i8x16_splat((int8_t)w->flip);
      point = i16x8_low_shifted(i8x16_low(q)) >> 16;
    }
    f32x4 add = i32x4_to_f32(i32x4_load(sum + j) - point * i32x4_splat(unit->sum)) * scale;
    f32x4_store(c + j, f32x4_load(c + j) + (scales ? add * f32x4_load(scales + j) : add));
  }
}

void weight_only_sums_add(const WeightOnly *w, size_t rows, const void *scratch, size_t n, size_t count, float *c,
                          size_t stride) {
  const Unit *unit = scratch;
  size_t units = units_of(w);
  int32_t sum[SUMS];
  for (size_t k = 0, length; k < w->depth; k += length, unit++) {
    length = unit_length(w, k);
    memset(sum, 0, rows * count * sizeof *sum);
    add_unit(w, rows, unit, units, k, n, length, count, sum);
    for (size_t row = 0; row < rows; row++)
      put_unit(w, unit + row * units, n, k / w->block, count, sum + row * count, c + row * stride);
  }
}
