/* Winograd: convolutions of 3×3 cells and stride 1 with 36 multiplications for a 4×4 tile of y, where the plain sum has
 * 144. Each of the 36 cells is a product:
 *
 *   w ─G w Gᵀ─▶ U (36, F, C) ─┐
 *   x ─Bᵀ x B─▶ V (36, C, tiles) ─┴─▶ M = U V (36, F, tiles) ─Aᵀ M A─▶ y         a block of tiles at a time
 */
#pragma once
#include "kernels/conv_variant.h"

extern const ConvVariant conv_winograd, conv_winograd_input, conv_winograd_weights;
