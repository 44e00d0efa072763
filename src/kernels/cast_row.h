/* Cast row: elements of one type as those of another, several at once, for the pairs that networks are full of. */
#pragma once
#include "shape.h"

/* As numbers_store says of what a type cannot hold. */
typedef void CastRow(void *y, const void *x, size_t count);

/* NULL for other pairs. */
CastRow *cast_row(DType from, DType to);
