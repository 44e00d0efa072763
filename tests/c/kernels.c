/* Kernels: products of all forms against plain loops in double, in scratch of exactly the size asked for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels/cast_row.h"
#include "kernels/fft.h"
#include "ops/product/gauss.h"
#include "kernels/gemm.h"
#include "kernels/gemm_pack.h"
#include "kernels/gemm_vector.h"
#include "kernels/number.h"

typedef struct Product {
  size_t rows, columns, depth;
  bool trans_a, trans_b, clamp;
  int d; /* 0: none, 1: a row of biases, 2: a column of biases, 3: C itself */
  float alpha;
} Product;

static float filled(size_t i, unsigned salt) {
  return (float)((i * 2654435761u + salt * 40503u) >> 7 & 1023) / 512 - 1;
}

static float *floats(size_t count, unsigned salt) {
  float *p = malloc(count * sizeof *p);
  for (size_t i = 0; i < count; i++) p[i] = filled(i, salt);
  return p;
}

static double expected(const Product *p, const float *a, const float *b, double d, size_t i, size_t j, double *size) {
  double sum = 0;
  *size = fabs(d);
  for (size_t k = 0; k < p->depth; k++) {
    double term = (double)a[p->trans_a ? k * p->rows + i : i * p->depth + k] *
                  b[p->trans_b ? j * p->depth + k : k * p->columns + j];
    sum += term;
    *size += fabs(term);
  }
  double v = p->alpha * sum + 2 * d;
  return !p->clamp ? v : v < -1 ? -1 : v > 1.5 ? 1.5 : v;
}

/* B packed ahead gives the same bits, where the order of the sums is the same. */
static void packed_is_the_same(Gemm g, const float *before) {
  size_t bytes = g.rows * g.columns * sizeof(float);
  float *packed = malloc(gemm_packed_b_floats(g.columns, g.depth) * sizeof(float)), *c = malloc(bytes);
  void *scratch = malloc(gemm_scratch_bytes(g.rows, 0, g.depth));
  const float *wanted = g.c;
  memcpy(c, before, bytes);
  gemm_pack_b(&g.b, g.columns, g.depth, packed);
  g.packed_b = packed;
  if (g.d == g.c) g.d = c;
  g.c = c;
  gemm_run(&g, scratch);
  check(memcmp(c, wanted, bytes) == 0, "%zu × %zu × %zu: packed B gives other bits", g.rows, g.depth, g.columns);
  free(packed), free(c), free(scratch);
}

static void product_is_right(const void *argument) {
  const Product *p = argument;
  size_t count = p->rows * p->columns;
  float *a = floats(p->rows * p->depth, 1), *b = floats(p->depth * p->columns, 2), *c = floats(count, 3),
        *before = floats(count, 3);
  Gemm g = {.rows = p->rows,
            .columns = p->columns,
            .depth = p->depth,
            .alpha = p->alpha,
            .beta = 2,
            .c = c,
            .c_row_stride = p->columns};
  g.a = gemm_a(a, p->trans_a ? p->rows : p->depth, p->trans_a);
  g.b = gemm_b(b, p->trans_b ? p->depth : p->columns, p->trans_b);
  g.d = p->d == 0 ? NULL : p->d == 3 ? c : before;
  g.d_row_stride = p->d == 2 ? 1 : p->d == 3 ? p->columns : 0;
  g.d_column_stride = p->d != 2;
  g.clamp = p->clamp;
  g.low = -1;
  g.high = 1.5f;
  Gemm planned = g; /* scratch is asked for before there are addresses */
  planned.a.data = planned.b.data = planned.d = planned.c = NULL;
  void *scratch = malloc(gemm_bytes(&planned));
  gemm_run(&g, scratch);
  for (size_t i = 0; i < p->rows; i++)
    for (size_t j = 0; j < p->columns; j++) {
      double size, d = p->d == 0 ? 0 : before[i * g.d_row_stride + j * g.d_column_stride];
      double wanted = expected(p, a, b, d, i, j, &size), came = c[i * p->columns + j];
      if (!check(fabs(came - wanted) <= 3e-6 * (1 + size), "element %zu %zu is %g, wanted %g", i, j, came, wanted))
        goto end;
    }
  if (p->depth > 0 && (!gemm_is_vector(&g) || gemm_vector_is_as_tile(&g))) packed_is_the_same(g, before);
end:
  free(scratch);
  free(a), free(b), free(c), free(before);
}

static void products_are_right(const void *argument) {
  static const size_t sizes[][3] = {
      {1, 1, 1},    {1, 130, 70},  {1, 600, 5},   {2, 9, 33},     {3, 17, 6},   {4, 8, 12},    {5, 8, 7},
      {6, 31, 64},  {7, 3, 100},   {13, 1, 400},  {40, 2, 19},    {64, 64, 32}, {61, 33, 64},  {9, 5, 800},
      {131, 20, 3}, {3, 800, 400}, {33, 70, 1},   {600, 1, 130},  {128, 90, 1}, {25, 775, 2},  {8, 6, 0},
      {1, 50, 900}, {2, 2500, 7},  {3, 700, 770}, {1, 4100, 130}, {100, 4, 9},  {12, 7, 1000}, {250, 24, 385}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int form = 0; form < 32; form++) {
      Product p = {sizes[i][0], sizes[i][1], sizes[i][2], form & 1, form & 2, form & 4, form >> 3, 0.5f};
      product_is_right(&p);
      p.alpha = 1;
      if (!p.d) product_is_right(&p);
    }
}

static void tiles_of_any_height_agree(const void *argument) {
  enum { ROWS = 47, COLUMNS = 29, DEPTH = 401 };
  static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], wanted[ROWS * COLUMNS], c[ROWS * COLUMNS];
  for (size_t i = 0; i < ROWS * DEPTH; i++) a[i] = (float)((int)(i * 7919 % 1013) - 506) / 300;
  for (size_t i = 0; i < DEPTH * COLUMNS; i++) b[i] = (float)((int)(i * 6007 % 997) - 498) / 300;
  void *scratch = malloc(gemm_scratch_bytes(ROWS, COLUMNS, DEPTH));
  Gemm g = {.rows = ROWS, .columns = COLUMNS, .depth = DEPTH, .alpha = 1, .c = wanted, .c_row_stride = COLUMNS};
  g.a = gemm_a(a, DEPTH, false);
  g.b = gemm_b(b, COLUMNS, false);
  gemm_run(&g, scratch);
  g.c = c;
  for (size_t rows = 0; rows <= 7; rows++) { /* the last leaves the default */
    memset(c, 0, sizeof c);
    gemm_set_rows(rows);
    gemm_pack_a(&g.a, 12, 2,
                c); /* twelve rows fill their panels: behind the first one's rows of k 0 stand those of k 1 */
    check(rows == 0 || rows > 4 || (c[rows - 1] == a[(rows - 1) * DEPTH] && c[rows] == a[1]),
          "panels of %zu rows were wanted", rows);
    gemm_run(&g, scratch);
    check(memcmp(c, wanted, sizeof c) == 0, "tiles of %zu rows give other bits", rows);
  }
  free(scratch);
}

/* Rows of tile and edge, through the packed product (depth 6) and the one that packs nothing (depth 1). */
static void clamping_keeps_nan(const void *argument) {
  enum { ROWS = 10, COLUMNS = 9 };
  for (size_t depth = 1; depth <= 6; depth += 5) {
    float a[ROWS * 6], b[COLUMNS * 6], c[ROWS * COLUMNS], scratch[512];
    for (size_t i = 0; i < ROWS * depth; i++) a[i] = i == 3 * depth ? NAN : 1;
    for (size_t i = 0; i < COLUMNS * depth; i++) b[i] = i % COLUMNS % 2 ? -1 : 2;
    Gemm g = {.rows = ROWS,
              .columns = COLUMNS,
              .depth = depth,
              .alpha = 1,
              .c = c,
              .c_row_stride = COLUMNS,
              .clamp = true,
              .high = INFINITY};
    g.a = gemm_a(a, depth, false);
    g.b = gemm_b(b, COLUMNS, false);
    gemm_run(&g, scratch);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
      check(i / COLUMNS == 3 ? isnan(c[i]) : c[i] == (i % COLUMNS % 2 ? 0 : 2 * (float)depth),
            "depth %zu: element %zu is %g", depth, i, c[i]);
  }
}

/* Panels of every width, that of a build with fused products too. */
static void panels_hold_their_lines(const void *argument) {
  enum { LINES = 9, DEPTH = 11 };
  float data[LINES * DEPTH], packed[8 * DEPTH];
  (void)argument;
  for (size_t i = 0; i < LINES * DEPTH; i++) data[i] = (float)(i + 1);
  for (size_t width = 4; width <= 8; width++)
    for (size_t form = 0; form < 4; form++) {
      bool turned = form & 1;
      size_t count = form & 2 ? width - 1 : width, stride = turned ? 1 : DEPTH, k_stride = turned ? LINES : 1;
      GemmSource source = gemm_a(data, turned ? LINES : DEPTH, turned);
      gemm_pack_panel(&source, 1, count, width, 2, DEPTH - 2, packed);
      for (size_t i = 0; i < width * (DEPTH - 2); i++) {
        float want = i % width < count ? data[(1 + i % width) * stride + (2 + i / width) * k_stride] : 0;
        if (!check(packed[i] == want, "width %zu, %zu lines%s: [%zu] is %g, not %g", width, count,
                   turned ? " side by side" : "", i, packed[i], want))
          break;
      }
    }
}

/* det of the matrix without row r and column c, by the definition, of up to 4×4 */
static double minor_of(const double *a, size_t n, size_t r, size_t c) {
  double rest[9], sum = 0;
  if (n == 1) return 1;
  for (size_t i = 0, at = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      if (i != r && j != c) rest[at++] = a[i * n + j];
  if (n == 2) return rest[0];
  for (size_t j = 0; j < n - 1; j++) sum += (j % 2 ? -1 : 1) * rest[j] * minor_of(rest, n - 1, 0, j);
  return sum;
}

/* Cofactors; matrices of full rank, of rank n - 1 (shifts and sums of rows among them, whose first columns may be 0),
 * and of less. */
static void adjugates_are_cofactors(const void *argument) {
  static const struct {
    size_t n;
    double a[16];
  } matrices[] = {{1, {3}},
                  {1, {0}},
                  {2, {1, 2, 3, 5}},
                  {2, {0, 1, 0, 0}},
                  {2, {0, 0, 4, 0}},
                  {2, {0}},
                  {3, {2, -1, 0, 4, 3, 1, 5, 2, 7}},
                  {3, {0, 1, 0, 0, 0, 1, 0, 0, 0}},
                  {3, {0, 2, 5, 0, 0, 3, 0, 0, 0}},
                  {3, {1, 2, 3, 2, 4, 6, 0, 1, 1}},
                  {3, {0, 0, 0, 1, 2, 4, 3, 1, 2}},
                  {3, {1, 2, 3, 2, 4, 6, 3, 6, 9}},
                  {4, {1, 2, 0, 1, 3, 1, 4, 2, 0, 5, 2, 2, 1, 1, 3, 0}},
                  {4, {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0}},
                  {4, {0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0}},
                  {4, {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0}}};
  for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
    size_t n = matrices[m].n;
    double a[16], adjugate[16];
    size_t swapped[4];
    for (size_t i = 0; i < 16; i++)
      a[i] = i < n * n ? matrices[m].a[i] : 9, adjugate[i] = 9; /* elements behind are not touched */
    gauss_adjugate(a, n, adjugate, swapped);
    for (size_t i = n * n; i < 16; i++)
      check(a[i] == 9 && adjugate[i] == 9, "matrix %zu: element %zu behind it was written", m, i);
    for (size_t i = 0; i < n * n; i++) {
      double wanted = ((i / n + i % n) % 2 ? -1 : 1) * minor_of(matrices[m].a, n, i % n, i / n);
      check(fabs(adjugate[i] - wanted) <= 1e-12, "matrix %zu: element %zu of its adjugate is %g instead of %g", m, i,
            adjugate[i], wanted);
    }
  }
}

/* A matrix times its inverse is the identity, whichever rows are pivots; one without an inverse has NaN everywhere. */
static void inverses_are_right(const void *argument) {
  static const double matrices[][9] = {
      {2, -1, 0, 4, 3, 1, 5, 2, 7}, {0, 2, 0, 0, 0, 3, 4, 0, 0}, {1, 2, 3, 2, 4, 6, 0, 1, 1}, {0}};
  (void)argument;
  for (size_t m = 0; m < 4; m++) {
    double a[9], inverse[9];
    size_t swapped[3];
    memcpy(a, matrices[m], sizeof a);
    gauss_inverse(a, 3, inverse, swapped);
    for (size_t i = 0; i < 9; i++) {
      double sum = 0;
      for (size_t k = 0; k < 3; k++) sum += matrices[m][i / 3 * 3 + k] * inverse[k * 3 + i % 3];
      check(m < 2 ? fabs(sum - (i % 4 == 0)) <= 1e-15 : isnan(inverse[i]), "matrix %zu: element %zu is %g", m, i,
            m < 2 ? sum : inverse[i]);
    }
  }
}

/* Compares every length up to 300, and some large primes and their multiples, with the sum in double, as exact as
 * powers of two are. */
static void transforms_are_right(const void *argument) {
  static const size_t large[] = {509, 1013, 1022, 1024, 2039, 3 * 719, 4093};
  for (size_t i = 0; i < 300 + sizeof large / sizeof *large; i++) {
    size_t n = i < 300 ? i + 1 : large[i - 300];
    Arena arena = {0};
    Fft f;
    if (!check(fft_new(&f, n, &arena), "no memory for a transform of %zu", n)) return;
    size_t rest = n;
    for (size_t p = 2; p <= 128; p++)
      while (rest % p == 0) rest /= p;
    check((f.power != NULL) == (rest > 1), "a transform of %zu goes the wrong way", n);
    Complex *x = ARENA_ARRAY(&arena, Complex, n), *y = ARENA_ARRAY(&arena, Complex, n),
            *spare = ARENA_ARRAY(&arena, Complex, fft_spare(&f));
    for (size_t t = 0; t < n; t++) x[t] = (Complex){filled(t, 1), filled(t, 2)};
    fft_run(&f, x, y, spare);
    double worst = 0, size = 0;
    for (size_t k = 0; k < n; k += n > 300 ? 7 : 1) {
      double re = 0, im = 0;
      for (size_t t = 0; t < n; t++) {
        double angle = -2 * M_PI * (double)(k * t % n) / (double)n;
        re += x[t].re * cos(angle) - x[t].im * sin(angle);
        im += x[t].re * sin(angle) + x[t].im * cos(angle);
      }
      worst = fmax(worst, hypot(y[k].re - re, y[k].im - im));
      size = fmax(size, hypot(re, im));
    }
    check(worst <= 2e-6 * size, "a transform of %zu is %g off where the largest number is %g", n, worst, size);
    arena_free(&arena);
  }
}

/* ---- casts ---- */

/* Floats around every limit, halves' subnormal ones, every 4,099th bit pattern; and as many bytes and integers. */
static void cast_rows_are_as_numbers(const void *argument) {
  enum { COUNT = 1 << 20 };
  static const DType types[] = {DTYPE_FLOAT32, DTYPE_INT32, DTYPE_UINT8, DTYPE_FLOAT16, DTYPE_BOOL, DTYPE_INT64};
  static uint64_t x[COUNT], y[COUNT], want[COUNT];
  int pairs = 0;
  for (int f = 0; f < 6; f++)
    for (int t = 0; t < 6; t++) {
      CastRow *row = cast_row(types[f], types[t]);
      if (!row) continue;
      size_t count = COUNT - 3;
      for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)i * 4099u;
        if (types[f] == DTYPE_FLOAT32) ((uint32_t *)x)[i] = bits;
        else if (types[f] == DTYPE_INT32) ((uint32_t *)x)[i] = bits;
        else if (types[f] == DTYPE_INT64) x[i] = (uint64_t)bits * 2654435761u;
        else ((uint8_t *)x)[i] = types[f] == DTYPE_BOOL ? i & 1 : (uint8_t)i;
      }
      row(y, x, count);
      Numbers block;
      for (size_t at = 0; at < count; at += NUMBERS) {
        size_t some = count - at < NUMBERS ? count - at : NUMBERS;
        numbers_load(&block, x, types[f], at, 1, some);
        if (dtype_is_float(types[f])) numbers_store_floats(&block, want, types[t], at, some);
        else numbers_store_ints(&block, want, types[t], at, some);
      }
      pairs++;
      for (size_t i = 0, bytes = dtype_bytes(types[t]); i < count; i++)
        if (!check(memcmp((uint8_t *)y + i * bytes, (uint8_t *)want + i * bytes, bytes) == 0, "%s to %s: element %zu",
                   dtype_name(types[f]), dtype_name(types[t]), i))
          break;
    }
  check(pairs == 13, "%d pairs", pairs);
}

int main(void) {
  TEST(transforms_are_right);
  TEST(panels_hold_their_lines);
  TEST(products_are_right);
  TEST(tiles_of_any_height_agree);
  TEST(clamping_keeps_nan);
  TEST(adjugates_are_cofactors), TEST(inverses_are_right);
  TEST(cast_rows_are_as_numbers);
  return test_finish();
}
