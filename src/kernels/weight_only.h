/* Products with weight-only quantized matrices: 4, 8 or 16 bits a number. Few rows read W as it lies in memory, more
 * rows widen a panel at a time.
 *
 *   dots:  column n of the product │ k 0 1 2 …    W (columns × depth): dot products along its rows
 *   else:  k                       │ n 0 1 2 …    W (depth × columns): its rows are added up
 *
 *   w(k, n) = (q - point)·scale, both of the column and the block of k's
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum WeightOnlyKind {
  WEIGHT_ONLY_4,    /* two numbers 0 … 15 a byte, the first in its lower bits; for dots alone */
  WEIGHT_ONLY_8,    /* int8, or uint8 with `flip` */
  WEIGHT_ONLY_HALF, /* float16, all finite; without points */
} WeightOnlyKind;

typedef struct WeightOnly {
  WeightOnlyKind kind;
  bool dots;                    /* else scale_column and point_column are 1 */
  bool turned;                  /* panels only: the product is with the transposed matrix */
  size_t columns, depth, block; /* `block` k's share a scale and a point */
  const void *data;
  const float *scales; /* column n, block b: [n · scale_column + b · scale_block]; NULL: `scale` for all */
  size_t scale_column, scale_block;
  const uint8_t *points; /* alike, bytes, or with WEIGHT_ONLY_4 two a byte; NULL: `point` for all */
  size_t point_column, point_block;
  float scale;
  int8_t point; /* flipped */
  uint8_t flip; /* turns a byte into an int8: 0x80 for uint8, else 0 */
} WeightOnly;

enum { WEIGHT_ONLY_ROWS = 8 }; /* at most: with more it pays to widen the numbers first */

/* True if its sizes suit the kernels for few rows. */
bool weight_only_fits(const WeightOnly *w);
/* The scratch of weight_only_run in bytes, if the sizes fit; false if they overflow. */
bool weight_only_bytes(const WeightOnly *w, size_t rows, size_t *bytes);
/* c = a · w + d on all threads; rows of a and c lie side by side; d is a row, or NULL. The bits of a column do not
 * depend on where threads divide. */
void weight_only_run(const WeightOnly *w, size_t rows, const float *a, const float *d, float *c, void *scratch);

/* A GemmFill of a WeightOnly of any sizes: its numbers are (q - point) · scale, rounded once. */
void weight_only_fill(const void *w, size_t column, size_t count, size_t from, size_t depth, float *packed);
