/* Packing one panel: lines of an operand side by side, k-major, for the tile of gemm.c. */
#pragma once
#include "kernels/gemm.h"

/* packed[k · width + i] = element (line + i, from + k) of the source, 0 for count ≤ i < width; width ≤ 8. */
void gemm_pack_panel(const GemmSource *source, size_t line, size_t count, size_t width, size_t from, size_t depth,
                     float *packed);
