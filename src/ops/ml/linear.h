/* Linear models: their coefficients become weights, which train as those of any layer. */
#pragma once
#include "graph/expansion.h"

/* Input 0 in float32 as rows; of rank 1 it is one row. NULL with a sentence. */
Value *linear_rows(Expansion *c);
/* x · coefficientsᵀ + intercepts, with `rows` rows of coefficients; intercepts may be NULL. NULL with a sentence. */
Value *linear_scores(Expansion *c, int64_t rows, const Attr *coefficients, const Attr *intercepts);
