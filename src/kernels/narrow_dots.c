/* Narrow dots: A in whole numbers of 16 bits, of which one instruction multiplies and adds eight.
 *
 *   a(k) = whole(k) · unit,  unit = max |a| / 32767 of 32 numbers: apart by 2^-16 of the largest at most
 *   Σ a(k) · (q(k) - point) · scale = unit · scale · (Σ whole(k) q(k) - point · Σ whole(k)),  exact in 32 bits
 */
#include "kernels/narrow_dots.h"

#include "kernels/scratch.h"
#include "simd.h"
#include "threads.h"

enum { UNIT = NARROW_UNIT, MOST = INT16_MAX };

/* A row of A, a unit after the other. */
typedef struct Wholes {
  int16_t *numbers; /* in the order in which quarters_of takes W's numbers out of their bits */
  float *scales;    /* four times each; NaN where not all numbers are finite */
  int32_t *sums;    /* three zeros behind each */
} Wholes;

typedef struct Product {
  const Narrow *w;
  size_t rows;
  const float *d;
  float *c;
  Wholes a[NARROW_ROWS];
} Product;

bool narrow_dots_fits(const Narrow *w) {
  bool blocks = w->block % UNIT == 0 || w->block >= w->depth;
  return w->dots && !w->turned && w->kind != NARROW_HALF && w->depth % UNIT == 0 && w->block > 0 && blocks;
}

static bool plan(const Narrow *w, size_t rows, char *base, Product *p, size_t *bytes) {
  Scratch s = {.base = base};
  for (size_t i = 0; i < rows; i++) {
    p->a[i].numbers = scratch_take(&s, 1, w->depth, sizeof(int16_t));
    p->a[i].scales = scratch_take(&s, 4, w->depth / UNIT, sizeof(float));
    p->a[i].sums = scratch_take(&s, 4, w->depth / UNIT, sizeof(int32_t));
  }
  *bytes = s.used;
  return !s.overflow;
}

bool narrow_dots_bytes(const Narrow *w, size_t rows, size_t *bytes) {
  Product p;
  return plan(w, rows, NULL, &p, bytes);
}

/* ---- A in whole numbers ---- */

static void put_unit(const float *a, bool nibbles, int16_t *numbers, float *scales, int32_t *sums) {
  f32x4 most = f32x4_splat(0), nothing = most;
  i32x4 sum = i32x4_splat(0);
  for (size_t k = 0; k < UNIT; k += 4) {
    f32x4 v = f32x4_load(a + k);
    most = f32x4_max(f32x4_abs(v), most);
    nothing += v * 0; /* or NaN */
  }
  float scale = f32x4_max_lane(most) * (1.0f / MOST), per = scale > 0x1p-126f ? 1 / scale : 0;
  size_t apart = nibbles ? 8 : 1;
  for (size_t k = 0; k < UNIT; k += 4) {
    i32x4 v = f32x4_to_i32(f32x4_nearest(f32x4_load(a + k) * per));
    int16_t *to = numbers + (nibbles ? k / 4 : k);
    to[0] = (int16_t)v[0], to[apart] = (int16_t)v[1], to[2 * apart] = (int16_t)v[2], to[3 * apart] = (int16_t)v[3];
    sum += v;
  }
  f32x4_store(scales, f32x4_splat(scale + f32x4_sum(nothing)));
  i32x4_store(sums, (i32x4){sum[0] + sum[1] + sum[2] + sum[3], 0, 0, 0});
}

/* ---- dots ---- */

/* Σ over a unit of whole(k) q(k). Of four numbers in 16 bits the second and fourth come 16 times as large. */
static inline __attribute__((always_inline)) i32x4 unit_dot(bool nibbles, i8x16 flip, const uint8_t *w,
                                                            const int16_t *a) {
  i16x8 first = i16x8_load(a), second = i16x8_load(a + 8), third = i16x8_load(a + 16), fourth = i16x8_load(a + 24);
  if (nibbles) {
    i16x8 v = i16x8_load(w), upper = u16x8_right(v, 8), low = i16x8_splat(0x0f), high = i16x8_splat(0xf0);
    i32x4 larger = i16x8_dot(v & high, second) + i16x8_dot(upper & high, fourth);
    return i16x8_dot(v & low, first) + i16x8_dot(upper & low, third) + (larger >> 4);
  }
  i8x16 x = i8x16_load(w) ^ flip, y = i8x16_load(w + 16) ^ flip;
  return i16x8_dot(i8x16_low(x), first) + i16x8_dot(i8x16_high(x), second) + i16x8_dot(i8x16_low(y), third) +
         i16x8_dot(i8x16_high(y), fourth);
}

static int point_at(const Narrow *w, size_t i) {
  if (!w->points) return w->point;
  return w->kind == NARROW_4 ? w->points[i / 2] >> i % 2 * 4 & 15 : (int8_t)(w->points[i] ^ w->flip);
}

/* Of one row and column n, the kind a constant. */
static inline __attribute__((always_inline)) float dot_of(bool nibbles, const Narrow *w, Wholes a, size_t n) {
  size_t step = nibbles ? UNIT / 2 : UNIT, count = w->depth / UNIT, across = w->block / UNIT, left = 0;
  const uint8_t *bytes = (const uint8_t *)w->data + n * count * step, *end = bytes + count * step;
  const float *scale = w->scales ? w->scales + n * w->scale_column : &w->scale;
  size_t scale_step = w->scales ? w->scale_block : 0, point_step = w->point_block, place = n * w->point_column;
  i8x16 flip = i8x16_splat((int8_t)w->flip);
  i32x4 point = i32x4_splat(point_at(w, place));
  f32x4 total = f32x4_splat(0);
  for (; bytes < end; bytes += step, a.numbers += UNIT, a.scales += 4, a.sums += 4) {
    i32x4 sum = unit_dot(nibbles, flip, bytes, a.numbers) - point * i32x4_load(a.sums);
    total = f32x4_madd(i32x4_to_f32(sum), f32x4_load(a.scales) * f32x4_splat(*scale), total);
    if (++left != across) continue;
    left = 0;
    scale += scale_step;
    if (w->points && bytes + step < end) point = i32x4_splat(point_at(w, place += point_step));
  }
  return f32x4_sum(total);
}

static void dot_range(void *context, size_t from, size_t to) {
  const Product *p = context;
  const Narrow *w = p->w;
  for (size_t n = from; n < to; n++)
    for (size_t i = 0; i < p->rows; i++) {
      float sum = w->kind == NARROW_4 ? dot_of(true, w, p->a[i], n) : dot_of(false, w, p->a[i], n);
      p->c[i * w->columns + n] = sum + (p->d ? p->d[n] : 0);
    }
}

/* Eight multiplications take about a nanosecond. */
void narrow_dots_run(const Narrow *w, size_t rows, const float *a, const float *d, float *c, void *scratch) {
  Product p = {.w = w, .rows = rows, .d = d, .c = c};
  size_t bytes;
  plan(w, rows, scratch, &p, &bytes);
  for (size_t i = 0; i < rows; i++)
    for (size_t unit = 0; unit < w->depth / UNIT; unit++, a += UNIT)
      put_unit(a, w->kind == NARROW_4, p.a[i].numbers + unit * UNIT, p.a[i].scales + 4 * unit, p.a[i].sums + 4 * unit);
  threads_split(w->columns, threads_grain(rows * w->depth / 8 + 1), dot_range, &p);
}
