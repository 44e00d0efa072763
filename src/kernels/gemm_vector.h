/* Products with very few rows or of depth 1: every element of B is used so seldom that packing it would cost more than
 * the work itself. */
#pragma once
#include "kernels/gemm.h"

/* Whether gemm_vector_run can do the product and is faster. */
bool gemm_is_vector(const Gemm *g);
void gemm_vector_run(const Gemm *g);
/* Whether its sums are added up in the tile's order, to the same bits. */
bool gemm_vector_is_as_tile(const Gemm *g);
