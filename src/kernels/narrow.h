/* Narrow: products with a matrix of 4, 8 or 16 bits a number, which few rows read as they lie in memory, more rows a
 * panel at a time.
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

typedef enum NarrowKind {
  NARROW_4,    /* two numbers 0 … 15 a byte, the first in its lower bits; for dots alone */
  NARROW_8,    /* int8, or uint8 with `flip` */
  NARROW_HALF, /* float16, all finite; without points */
} NarrowKind;

typedef struct Narrow {
  NarrowKind kind;
  bool dots;                    /* else scale_column and point_column are 1 */
  bool turned;                  /* panels only: the product is with the transposed matrix */
  size_t columns, depth, block; /* `block` k's share a scale and a point */
  const void *data;
  const float *scales; /* column n, block b: [n · scale_column + b · scale_block]; NULL: `scale` for all */
  size_t scale_column, scale_block;
  const uint8_t *points; /* alike, bytes, or with NARROW_4 two a byte; NULL: `point` for all */
  size_t point_column, point_block;
  float scale;
  int8_t point; /* flipped */
  uint8_t flip; /* turns a byte into an int8: 0x80 for uint8, else 0 */
} Narrow;

enum { NARROW_ROWS = 8 }; /* at most: with more it pays to widen the numbers first */

/* True if its sizes suit the kernels for few rows. */
bool narrow_fits(const Narrow *w);
/* The scratch of narrow_run in bytes, if the sizes fit; false if they overflow. */
bool narrow_bytes(const Narrow *w, size_t rows, size_t *bytes);
/* c = a · w + d on all threads; rows of a and c lie side by side; d is a row, or NULL. The bits of a column do not
 * depend on where threads divide. */
void narrow_run(const Narrow *w, size_t rows, const float *a, const float *d, float *c, void *scratch);

/* A GemmFill of a Narrow of any sizes: its numbers are (q - point) · scale, rounded once. */
void narrow_fill(const void *w, size_t column, size_t count, size_t from, size_t depth, float *packed);
