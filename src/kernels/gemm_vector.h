/* Products with very few rows, or of very little depth: every element of B, or every sum, takes so little work that
 * packing or a tile would cost more. */
#pragma once
#include "kernels/gemm.h"

/* True if gemm_vector_run can do the product and is faster. */
bool gemm_is_vector(const Gemm *g);
void gemm_vector_run(const Gemm *g);
/* True if it adds in the same order as the tile, to the same bits. */
bool gemm_vector_is_as_tile(const Gemm *g);
