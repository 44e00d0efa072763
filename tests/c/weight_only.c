/* Weight-only quantized products: few rows times bytes, half bytes and float16 of all layouts, against plain loops in
 * double; panels of them against those of the floats that they stand for. */
#include "kernels/weight_only.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels/byte_product.h"
#include "kernels/gemm.h"
#include "kernels/number.h"

static unsigned bits_at(size_t i, unsigned salt) { return (unsigned)(i * 2654435761u + salt * 40503u) >> 9; }
static float number_at(size_t i, unsigned salt) { return (float)(bits_at(i, salt) % 2001) / 1000 - 1; }

/* A matrix in memory of exactly its size. */
typedef struct Matrix {
  WeightOnly w;
  bool is_signed;
  size_t blocks;
} Matrix;

static size_t bytes_of(const WeightOnly *w, size_t count) {
  return w->kind == WEIGHT_ONLY_HALF ? 2 * count : w->kind == WEIGHT_ONLY_4 ? count / 2 : count;
}

/* Finite float16, subnormal and negative ones too. */
static uint16_t half_at(size_t i) {
  uint16_t bits = (uint16_t)bits_at(i, 5);
  return (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : (bits & 0x3fff) | (bits & 0x8000);
}

static uint8_t *filled(size_t bytes, unsigned salt) {
  uint8_t *p = malloc(bytes);
  for (size_t i = 0; i < bytes; i++) p[i] = (uint8_t)bits_at(i, salt);
  return p;
}

static double number_of(const Matrix *m, const uint8_t *data, size_t i) {
  uint16_t half;
  if (m->w.kind == WEIGHT_ONLY_HALF) return memcpy(&half, data + 2 * i, 2), half_to_float(half);
  if (m->w.kind == WEIGHT_ONLY_4) return data[i / 2] >> i % 2 * 4 & 15;
  return m->is_signed ? (int8_t)data[i] : data[i];
}

static double weight_of(const Matrix *m, size_t k, size_t n) {
  const WeightOnly *w = &m->w;
  size_t block = k / w->block;
  double q = number_of(m, w->data, w->dots ? n * w->depth + k : k * w->columns + n);
  double scale = w->scales ? w->scales[n * w->scale_column + block * w->scale_block] : w->scale;
  double point = w->points ? number_of(m, w->points, n * w->point_column + block * w->point_block)
                           : w->point + (m->is_signed || w->kind != WEIGHT_ONLY_8 ? 0 : 128);
  if (w->kind == WEIGHT_ONLY_HALF) return q * scale;
  return (q - point) * scale;
}

typedef struct Filled {
  uint8_t *data, *points;
  float *scales;
} Filled;

static Filled fill(Matrix *m) {
  WeightOnly *w = &m->w;
  size_t count = w->depth * w->columns, scales = m->blocks * w->columns;
  Filled f = {filled(bytes_of(w, count), 1), filled(scales + w->columns, 2), malloc(scales * sizeof(float))};
  for (size_t i = 0; i < scales; i++) f.scales[i] = 0.01f + number_at(i, 4) / 128;
  for (size_t i = 0; i < count && w->kind == WEIGHT_ONLY_HALF; i++) memcpy(f.data + 2 * i, &(uint16_t){half_at(i)}, 2);
  w->data = f.data;
  w->scale = 0.03f;
  w->flip = m->is_signed || w->kind != WEIGHT_ONLY_8 ? 0 : 0x80;
  if (w->scales) w->scales = f.scales;
  if (w->points) w->points = f.points;
  return f;
}

static void drop(Filled f) { free(f.data), free(f.points), free(f.scales); }

/* The product by panels, or that of w's floats, packed ahead so that it is computed by panels too; with w or turned. */
static float *product_of(const Matrix *m, bool turned, bool wide, size_t rows) {
  WeightOnly w = m->w;
  size_t depth = turned ? w.columns : w.depth, columns = turned ? w.depth : w.columns, at = 0;
  float *a = malloc(rows * depth * sizeof *a), *b = malloc(depth * columns * sizeof *b),
        *c = malloc(rows * columns * sizeof *c),
        *packed = malloc(gemm_packed_b_floats(columns, depth) * sizeof *packed);
  for (size_t i = 0; i < rows * depth; i++) a[i] = number_at(i, 3);
  for (size_t k = 0; k < depth; k++)
    for (size_t n = 0; n < columns; n++) b[at++] = (float)(turned ? weight_of(m, n, k) : weight_of(m, k, n));
  w.turned = turned;
  Gemm g = {.rows = rows,
            .columns = columns,
            .depth = depth,
            .a = gemm_a(a, depth, false),
            .b = gemm_b(b, columns, false),
            .fill_b = wide ? NULL : weight_only_fill,
            .filled_b = &w,
            .packed_b = wide ? packed : NULL,
            .alpha = 1,
            .c = c,
            .c_row_stride = columns};
  gemm_pack_b(&g.b, columns, depth, packed);
  void *scratch = malloc(gemm_bytes(&g) + 1);
  gemm_run(&g, scratch);
  free(a), free(b), free(packed), free(scratch);
  return c;
}

static void panels_are_right(Matrix *m) {
  const size_t rows = 90; /* more than read B in place */
  Filled f = fill(m);
  for (int turned = 0; turned < 2; turned++) {
    float *ours = product_of(m, turned, false, rows), *floats = product_of(m, turned, true, rows);
    check(memcmp(ours, floats, rows * (turned ? m->w.depth : m->w.columns) * sizeof *ours) == 0,
          "kind %d, dots %d, turned %d: %zu × %zu in blocks of %zu differ from their floats", m->w.kind, m->w.dots,
          turned, m->w.depth, m->w.columns, m->w.block);
    free(ours), free(floats);
  }
  drop(f);
}

static void matrix_is_right(Matrix *m, size_t rows, bool with_d) {
  WeightOnly *w = &m->w;
  Filled f = fill(m);
  float *a = malloc(rows * w->depth * sizeof *a), *c = malloc(rows * w->columns * sizeof *c),
        *d = malloc(w->columns * sizeof *d);
  for (size_t i = 0; i < rows * w->depth; i++) a[i] = number_at(i, 3);
  for (size_t i = 0; i < w->columns; i++) d[i] = number_at(i, 6);
  check(weight_only_fits(w), "it should read %zu × %zu", w->depth, w->columns);
  size_t bytes;
  check(weight_only_bytes(w, rows, &bytes), "there must be a size");
  void *scratch = malloc(bytes + !bytes);
  weight_only_run(w, rows, a, with_d ? d : NULL, c, scratch);
  free(scratch);
  for (size_t i = 0; i < rows; i++)
    for (size_t n = 0; n < w->columns; n++) {
      double sum = with_d ? d[n] : 0, size = fabs(sum), weights = 0;
      for (size_t k = 0; k < w->depth; k++) {
        double weight = weight_of(m, k, n), term = a[i * w->depth + k] * weight;
        sum += term;
        size += fabs(term);
        weights += fabs(weight);
      }
      /* A, of which no number is above 1, is rounded to 16 bits, but for float16. */
      double rounded = w->kind == WEIGHT_ONLY_HALF ? 0 : weights / 65534;
      double came = c[i * w->columns + n];
      if (!check(fabs(came - sum) <= 1e-6 * size + rounded,
                 "kind %d, dots %d: element %zu %zu of %zu × %zu × %zu is %g, not %g", w->kind, w->dots, i, n, rows,
                 w->depth, w->columns, came, sum))
        goto end;
    }
end:
  drop(f);
  free(a), free(c), free(d);
}

static const float some_scale;
static const uint8_t some_point;

/* Dot products: of rows with blocks as MatMulNBits has them, with a scale for each column, with one for all. */
static void dots_are_right(const void *argument) {
  static const size_t sizes[][3] = {{32, 1, 32},     {96, 5, 32},   {64, 33, 64},
                                    {1056, 3, 1056}, {160, 40, 64}, {96, 7, 2048}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int kind = 0; kind < 3; kind++)
      for (int form = 0; form < 8; form++) {
        size_t depth = sizes[i][0], columns = sizes[i][1], block = sizes[i][2], blocks = (depth + block - 1) / block;
        bool half = kind == WEIGHT_ONLY_HALF, points = form & 1 && !half, scales = form & 2 && !half;
        Matrix m = {.is_signed = form & 4 && kind == WEIGHT_ONLY_8, .blocks = blocks};
        m.w = (WeightOnly){.kind = (WeightOnlyKind)kind,
                           .dots = true,
                           .columns = columns,
                           .depth = depth,
                           .block = block,
                           .scales = scales ? &some_scale : NULL,
                           .scale_column = blocks,
                           .scale_block = 1,
                           .points = points ? &some_point : NULL,
                           .point_column = kind == WEIGHT_ONLY_4 ? blocks + blocks % 2 : blocks,
                           .point_block = 1,
                           .point = kind == WEIGHT_ONLY_4 ? 8 : -3};
        for (size_t rows = 1; rows <= WEIGHT_ONLY_ROWS; rows += rows > 2 ? 5 : 1) matrix_is_right(&m, rows, form & 1);
        panels_are_right(&m);
      }
}

/* Rows added up, with columns that are no multiple of what is computed at a time. */
static void sums_are_right(const void *argument) {
  static const size_t sizes[][3] = {{1, 16, 1}, {7, 17, 7}, {33, 31, 8}, {40, 1100, 13}, {5, 4200, 5}, {300, 50, 300}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int kind = WEIGHT_ONLY_8; kind < 3; kind++)
      for (int form = 0; form < 8; form++) {
        size_t depth = sizes[i][0], columns = sizes[i][1], block = sizes[i][2], blocks = (depth + block - 1) / block;
        bool half = kind == WEIGHT_ONLY_HALF, points = form & 1 && !half, scales = form & 2 && !half;
        Matrix m = {.is_signed = form & 4 && !half, .blocks = blocks};
        m.w = (WeightOnly){.kind = (WeightOnlyKind)kind,
                           .columns = columns,
                           .depth = depth,
                           .block = block,
                           .scales = scales ? &some_scale : NULL,
                           .scale_column = 1,
                           .scale_block = columns,
                           .points = points ? &some_point : NULL,
                           .point_column = 1,
                           .point_block = columns,
                           .point = 5};
        for (size_t rows = 1; rows <= WEIGHT_ONLY_ROWS; rows += rows > 2 ? 5 : 1) matrix_is_right(&m, rows, form & 1);
        panels_are_right(&m);
      }
}

/* Sizes that few rows do not read, blocks that are not full, panels that begin at an odd number. */
static void odd_panels_are_right(const void *argument) {
  static const size_t sizes[][3] = {{37, 5, 37}, {776, 3, 8}, {40, 9, 24}, {3, 1, 3}, {70, 130, 16}, {9, 15, 4}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int kind = 0; kind < 3; kind++)
      for (int form = 0; form < 4; form++) {
        size_t depth = sizes[i][0], columns = sizes[i][1], block = sizes[i][2], blocks = (depth + block - 1) / block;
        bool dots = form & 1, points = form & 2 && kind == WEIGHT_ONLY_8, full = depth % block == 0 && depth % 2 == 0;
        if (kind == WEIGHT_ONLY_4 && (!dots || !full)) continue;
        Matrix m = {.is_signed = form & 2 && kind == WEIGHT_ONLY_8, .blocks = blocks};
        m.w = (WeightOnly){.kind = (WeightOnlyKind)kind,
                           .dots = dots,
                           .columns = columns,
                           .depth = depth,
                           .block = block,
                           .scales = &some_scale,
                           .scale_column = dots ? blocks : 1,
                           .scale_block = dots ? 1 : columns,
                           .points = points ? &some_point : NULL,
                           .point_column = dots ? blocks : 1,
                           .point_block = dots ? 1 : columns,
                           .point = kind == WEIGHT_ONLY_4 ? 8 : -3};
        panels_are_right(&m);
      }
}

static void others_are_refused(const void *argument) {
  WeightOnly odd = {.kind = WEIGHT_ONLY_8, .dots = true, .columns = 8, .depth = 40, .block = 40},
             blocks = {.kind = WEIGHT_ONLY_8, .dots = true, .columns = 8, .depth = 96, .block = 48},
             halves = {.kind = WEIGHT_ONLY_HALF, .dots = true, .columns = 8, .depth = 40, .block = 40},
             thin = {.kind = WEIGHT_ONLY_8, .columns = 15, .depth = 32, .block = 32},
             nibbles = {.kind = WEIGHT_ONLY_4, .columns = 32, .depth = 32, .block = 32};
  check(!weight_only_fits(&odd) && !weight_only_fits(&blocks) && !weight_only_fits(&halves) &&
            !weight_only_fits(&thin) && !weight_only_fits(&nibbles),
        "sizes that are not read were taken");
}

static void byte_product_is_right(size_t rows, size_t depth, size_t columns, int form) {
  uint8_t *a = filled(rows * depth, 7), *b = filled(depth * columns, 8), *points = filled(columns, 9), point = 77;
  int32_t *c = malloc(rows * columns * sizeof *c);
  ByteProduct p = {.rows = rows,
                   .columns = columns,
                   .depth = depth,
                   .a = a,
                   .b = b,
                   .c = c,
                   .a_flip = form & 1 ? 0x80 : 0,
                   .b_flip = form & 2 ? 0x80 : 0,
                   .a_point = form & 4 ? &point : NULL,
                   .b_points = form & 8 ? points : NULL,
                   .b_point_stride = form & 16 ? 1 : 0};
  void *scratch = malloc(byte_product_bytes(rows, depth));
  byte_product_run(&p, scratch);
#define VALUE(byte, is_unsigned) ((is_unsigned) ? (int)(byte) : (int)(int8_t)(byte))
  for (size_t i = 0; i < rows; i++)
    for (size_t n = 0; n < columns; n++) {
      int wanted = 0, a_point = form & 4 ? VALUE(point, form & 1) : 0,
          b_point = form & 8 ? VALUE(points[form & 16 ? n : 0], form & 2) : 0;
      for (size_t k = 0; k < depth; k++)
        wanted += (VALUE(a[i * depth + k], form & 1) - a_point) * (VALUE(b[k * columns + n], form & 2) - b_point);
      if (!check(c[i * columns + n] == wanted, "form %d: element %zu %zu of %zu × %zu × %zu is %d, not %d", form, i, n,
                 rows, depth, columns, c[i * columns + n], wanted))
        goto end;
    }
end:
  free(a), free(b), free(points), free(c), free(scratch);
}

static void byte_products_are_right(const void *argument) {
  static const size_t sizes[][3] = {{1, 1, 16},  {1, 7, 17},    {2, 8, 40},    {3, 33, 300}, {8, 5, 31},
                                    {9, 64, 48}, {19, 13, 530}, {1, 40, 4500}, {6, 150, 70}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int form = 0; form < 32; form++) byte_product_is_right(sizes[i][0], sizes[i][1], sizes[i][2], form);
}

int main(void) {
  TEST(dots_are_right);
  TEST(sums_are_right);
  TEST(odd_panels_are_right);
  TEST(others_are_refused);
  TEST(byte_products_are_right);
  return test_finish();
}
