/* Byte product: two rows of B side by side make pairs, which one instruction multiplies and adds. */
#include "kernels/byte_product.h"
#include "simd.h"
#include "size.h"
#include "threads.h"

enum {
  STEP = BYTE_COLUMNS,
  STRIPS = 64,  /* of so many columns at least a thread takes, for shorter runs of a row are not fetched ahead */
  ROWS = 8,     /* of A, while the first cache holds the rows of B */
  CHUNK = 4096, /* sums of all these rows */
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
    uint32_t sum = 0; /* it may wrap, as the product does */
    row[to.depth - 1] = 0;
    for (size_t k = 0; k < p->depth; k++) {
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

/* Rows from … from + rows of columns n … n + count, a multiple of STEP; c has rows of `stride`. */
static void chunk_run(const Run *r, size_t from, size_t rows, size_t n, size_t count, int32_t *c, size_t stride) {
  const ByteProduct *p = r->p;
  for (size_t i = 0; i < rows; i++) /* Σk a (b - point) = Σk a b - point · Σk a */
    for (size_t j = 0; j < count; j++) {
      int point = as_signed(p->b_points, (n + j) * p->b_point_stride, p->b_flip);
      c[i * stride + j] = (int32_t)(0 - (uint32_t)point * (uint32_t)r->a.sums[from + i]);
    }
  for (size_t k = 0; k < p->depth; k += 2)
    for (size_t i = 0; i < rows; i++) add_pair(r, r->a.a + (from + i) * r->a.depth, k, n, count, c + i * stride);
}

/* The last columns are computed with those before them, so that nothing behind B is read. */
static void last_run(const Run *r, size_t from, size_t rows, size_t n, size_t end) {
  int32_t c[ROWS * STEP];
  chunk_run(r, from, rows, end - STEP, STEP, c, STEP);
  for (size_t i = 0; i < rows; i++)
    memcpy(r->p->c + (from + i) * r->p->columns + n, c + (i + 1) * STEP - (end - n), (end - n) * sizeof *c);
}

/* Of STEP columns each. */
static void run_strips(void *context, size_t from, size_t to) {
  const Run *r = context;
  const ByteProduct *p = r->p;
  size_t end = size_min(to * STEP, p->columns);
  for (size_t i = 0, rows; i < p->rows; i += rows) {
    rows = size_min(ROWS, p->rows - i);
    for (size_t n = from * STEP, count; n < end; n += count) {
      count = size_min(CHUNK / rows, end - n);
      if (count >= STEP) chunk_run(r, i, rows, n, count = count / STEP * STEP, p->c + i * p->columns + n, p->columns);
      else last_run(r, i, rows, n, end);
    }
  }
}

/* Eight multiplications take about a nanosecond. */
void byte_product_run(const ByteProduct *p, void *scratch) {
  if (p->rows == 0) return;
  Run r = {p, center(p, scratch)};
  size_t grain = threads_grain(p->rows * p->depth / 8 + 1);
  threads_split(ceil_div(p->columns, STEP), STRIPS + grain / STEP, run_strips, &r);
}
