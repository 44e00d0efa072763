/* Byte product: C = (A - a's point) · (B - b's points) of bytes, exactly in int32. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct ByteProduct {
  size_t rows, columns, depth; /* at least BYTE_COLUMNS columns */
  const uint8_t *a, *b;        /* (rows × depth), (depth × columns) */
  uint8_t a_flip, b_flip;      /* turns a byte into an int8: 0x80 for uint8, else 0 */
  const uint8_t *a_point;      /* one, or NULL: 0 */
  const uint8_t *b_points;     /* one for each column, or one alone, or NULL */
  size_t b_point_stride;       /* 1, or 0 for one alone */
  int32_t *c;
} ByteProduct;

enum { BYTE_COLUMNS = 16 };

size_t byte_product_bytes(size_t rows, size_t depth); /* scratch bytes */
void byte_product_run(const ByteProduct *p, void *scratch);
