/* Dot products: A in whole numbers of 16 bits, of which one instruction multiplies and adds eight.
 *
 *   a(k) = whole(k) · unit,  unit = max |a| / 32767 of 32 numbers: apart by 2^-16 of the largest at most
 *   Σ a(k) · (q(k) - point) · scale = unit · scale · (Σ whole(k) q(k) - point · Σ whole(k)),  exact in 32 bits
 */
#include "kernels/weight_only_dots.h"

#include "arena.h"
#include "simd.h"
#include "threads.h"

enum { UNIT = WEIGHT_ONLY_UNIT, MOST = INT16_MAX, ONE_BLOCK = 31 };

/* UNIT numbers of a row of A. */
typedef struct Unit {
  int16_t numbers[UNIT]; /* in the order in which unit_dot takes W's numbers out of their bits */
  float scale[4];        /* all the same; NaN where not all numbers are finite */
  int32_t sum[4];        /* times W's point if that is one for all; and three zeros */
} Unit;

typedef struct Product {
  const WeightOnly *w;
  size_t rows;
  const float *d;
  float *c;
  Unit *a;
} Product;

static bool is_power(size_t n) { return (n & (n - 1)) == 0; }

bool weight_only_dots_fits(const WeightOnly *w) {
  bool blocks = w->block >= w->depth || (w->block % UNIT == 0 && is_power(w->block));
  return w->dots && !w->turned && w->kind != WEIGHT_ONLY_HALF && w->depth % UNIT == 0 && w->block > 0 && blocks;
}

bool weight_only_dots_bytes(const WeightOnly *w, size_t rows, size_t *bytes) {
  return size_multiply(rows, w->depth / UNIT, bytes) && size_multiply(*bytes, sizeof(Unit), bytes);
}

/* ---- A in whole numbers ---- */

float weight_only_whole(const float *a, size_t apart, int16_t *numbers, int32_t *sum) {
  f32x4 most = f32x4_splat(0), nothing = most;
  i32x4 sums = i32x4_splat(0);
  for (size_t k = 0; k < UNIT; k += 4) {
    f32x4 v = f32x4_load(a + k);
    most = f32x4_max(f32x4_abs(v), most);
    nothing += v * 0; /* or NaN */
  }
  float scale = f32x4_max_lane(most) * (1.0f / MOST), per = scale > 0x1p-126f ? 1 / scale : 0;
  for (size_t k = 0; k < UNIT; k += 4) {
    i32x4 v = f32x4_to_i32(f32x4_nearest(f32x4_load(a + k) * per));
    int16_t *to = numbers + (apart == 1 ? k : k / 4);
    to[0] = (int16_t)v[0], to[apart] = (int16_t)v[1], to[2 * apart] = (int16_t)v[2], to[3 * apart] = (int16_t)v[3];
    sums += v;
  }
  *sum = sums[0] + sums[1] + sums[2] + sums[3];
  return scale + f32x4_sum(nothing);
}

static void put_unit(const WeightOnly *w, const float *a, Unit *to) {
  int32_t sum;
  f32x4_store(to->scale, f32x4_splat(weight_only_whole(a, w->kind == WEIGHT_ONLY_4 ? 8 : 1, to->numbers, &sum)));
  i32x4_store(to->sum, (i32x4){w->points ? sum : sum * w->point, 0, 0, 0});
}

/* ---- dots ---- */

/* The numbers of a unit of A, which two columns share. */
typedef struct Numbers {
  i16x8 v[4];
} Numbers;

/* Σ over a unit of whole(k) q(k) */
static inline __attribute__((always_inline)) i32x4 unit_dot(bool nibbles, i8x16 flip, const uint8_t *w, Numbers a) {
  if (nibbles) {
    i16x8 v = i16x8_load(w), low = i16x8_splat(15);
    return i16x8_dot(v & low, a.v[0]) + i16x8_dot(u16x8_right(v, 4) & low, a.v[1]) +
           (i16x8_dot(u16x8_right(v, 8) & low, a.v[2]) + i16x8_dot(u16x8_right(v, 12), a.v[3]));
  }
  i8x16 x = i8x16_load(w) ^ flip, y = i8x16_load(w + 16) ^ flip;
  return i16x8_dot(i8x16_low(x), a.v[0]) + i16x8_dot(i8x16_high(x), a.v[1]) + i16x8_dot(i8x16_low(y), a.v[2]) +
         i16x8_dot(i8x16_high(y), a.v[3]);
}

/* A column of W. */
typedef struct Column {
  const uint8_t *bytes;
  const float *scales;
  size_t point; /* the place of its first */
} Column;

static Column column_at(const WeightOnly *w, size_t n) {
  size_t line = w->kind == WEIGHT_ONLY_4 ? w->depth / 2 : w->depth;
  return (Column){(const uint8_t *)w->data + n * line, w->scales ? w->scales + n * w->scale_column : &w->scale,
                  n * w->point_column};
}

/* Units to a block, as a power of 2. */
static size_t shift_of(const WeightOnly *w) {
  return w->block < w->depth ? (size_t)__builtin_ctzl(w->block / UNIT) : ONE_BLOCK;
}

static inline __attribute__((always_inline)) int point_at(bool nibbles, const WeightOnly *w, size_t i) {
  return nibbles ? w->points[i / 2] >> i % 2 * 4 & 15 : (int8_t)(w->points[i] ^ w->flip);
}

/* total + what a unit of A adds to a column, in block `block` of it. */
static inline __attribute__((always_inline)) f32x4 unit_added(bool nibbles, bool points, const WeightOnly *w, Column c,
                                                              size_t block, float scale, const Unit *a, Numbers numbers,
                                                              f32x4 total) {
  i32x4 less = i32x4_load(a->sum);
  if (points) less *= i32x4_splat(point_at(nibbles, w, c.point + block * w->point_block));
  i32x4 sum = unit_dot(nibbles, i8x16_splat((int8_t)w->flip), c.bytes, numbers) - less;
  return f32x4_madd(i32x4_to_f32(sum), f32x4_load(a->scale) * f32x4_splat(scale), total);
}

/* The data wanted next. One byte of each cache line is read, because the processor prefetches along one stream, not
 * along two. */
typedef struct Ahead {
  const uint8_t *bytes;
  size_t step; /* to go with a unit */
} Ahead;

/* Dot products of one row with two columns that share its numbers, for constant `nibbles` and `points`. */
static inline __attribute__((always_inline)) void dots_of(bool nibbles, bool points, const WeightOnly *w, const Unit *a,
                                                          Column one, Column two, Ahead ahead, float *to) {
  size_t shift = shift_of(w), scale_shift = w->scales ? shift : ONE_BLOCK;
  size_t step = nibbles ? UNIT / 2 : UNIT, count = w->depth / UNIT;
  f32x4 total = f32x4_splat(0), next = total;
  for (size_t u = 0; u < count; u++, a++, one.bytes += step, two.bytes += step, ahead.bytes += ahead.step) {
    (void)*(volatile const uint8_t *)ahead.bytes;
    Numbers numbers = {
        {i16x8_load(a->numbers), i16x8_load(a->numbers + 8), i16x8_load(a->numbers + 16), i16x8_load(a->numbers + 24)}};
    size_t block = u >> shift, scale = u >> scale_shift;
    total = unit_added(nibbles, points, w, one, block, one.scales[scale], a, numbers, total);
    next = unit_added(nibbles, points, w, two, block, two.scales[scale], a, numbers, next);
  }
  to[0] = f32x4_sum(total);
  to[1] = f32x4_sum(next);
}

static void dot_range(void *context, size_t from, size_t to) {
  const Product *p = context;
  const WeightOnly *w = p->w;
  bool nibbles = w->kind == WEIGHT_ONLY_4;
  for (size_t n = from; n < to; n += 2) {
    bool pair = n + 1 < to;
    Column one = column_at(w, n), two = column_at(w, n + pair);
    Ahead ahead = {one.bytes, 0};
    if (n + 4 <= to) ahead = (Ahead){column_at(w, n + 2).bytes, nibbles ? UNIT : 2 * UNIT};
    for (size_t row = 0; row < p->rows; row++) {
      const Unit *a = p->a + row * (w->depth / UNIT);
      float sum[2], *c = p->c + row * w->columns + n;
      if (nibbles && w->points) dots_of(true, true, w, a, one, two, ahead, sum);
      else if (nibbles) dots_of(true, false, w, a, one, two, ahead, sum);
      else if (w->points) dots_of(false, true, w, a, one, two, ahead, sum);
      else dots_of(false, false, w, a, one, two, ahead, sum);
      c[0] = sum[0] + (p->d ? p->d[n] : 0);
      if (pair) c[1] = sum[1] + (p->d ? p->d[n + 1] : 0);
    }
  }
}

/* Eight multiplications take about a nanosecond. */
void weight_only_dots_run(const WeightOnly *w, size_t rows, const float *a, const float *d, float *c, void *scratch) {
  Product p = {.w = w, .rows = rows, .d = d, .c = c, .a = scratch};
  for (size_t i = 0; i < rows * (w->depth / UNIT); i++) put_unit(w, a + i * UNIT, p.a + i);
  threads_split(w->columns, threads_grain(rows * w->depth / 8 + 1), dot_range, &p);
}
