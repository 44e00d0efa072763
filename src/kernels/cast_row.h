/* Cast row: elements of one type as those of another, several at once, for the pairs that networks are full of. */
#pragma once
#include "shape.h"

/* Casts one row; numbers outside the target type become what numbers_store says. */
typedef void CastRow(void *y, const void *x, size_t count);

/* NULL for other pairs. */
CastRow *cast_row(DType from, DType to);
